#include "engine/lab/weight_bytes.h"

#include "engine/lab/compute_costs.h"

#include <algorithm>

namespace kvscope {
namespace {

/// A matrix may be a part of its tensor, so its share of the tensor's bytes.
std::uint64_t bytesOf(const MatrixSource& matrix)
{
    if (!matrix)
        return 0;
    const std::int64_t elements = matrix.rows * matrix.cols;
    if (matrix.exponents != nullptr) // MXFP4 in two tensors: half a byte, and one byte per 32
        return static_cast<std::uint64_t>(elements / 2 + elements / 32);
    const StorageType type = matrix.tensor->type;
    return static_cast<std::uint64_t>(elements / blockElements(type) * blockBytes(type));
}

std::uint64_t bytesOf(const FeedForwardTensors& expert)
{
    return bytesOf(expert.gate.weight) + bytesOf(expert.up.weight) + bytesOf(expert.down.weight);
}

/// Routed experts of one layer that a token does not visit.
std::uint64_t unvisitedBytes(const LayerTensors& layer, const MoEConfig& experts)
{
    std::uint64_t all = 0;
    for (const FeedForwardTensors& expert : layer.experts)
        all += bytesOf(expert);
    const auto numExperts = static_cast<std::uint64_t>(experts.numExperts);
    return all / numExperts * static_cast<std::uint64_t>(experts.numExperts - experts.numActive);
}

} // namespace

WeightBytes weightBytesOf(const ModelConfig& config, std::int64_t elementBytes)
{
    return {.total = static_cast<std::uint64_t>(config.totalParameters() * elementBytes),
            .perDecodeStep =
                static_cast<std::uint64_t>(multipliedParameters(config) * elementBytes)};
}

WeightBytes weightBytesOf(const Checkpoint& checkpoint)
{
    const ModelTensors& tensors = checkpoint.tensors;
    std::uint64_t unread = bytesOf(tensors.positions);
    if (!checkpoint.config.hasTiedHead)
        unread += bytesOf(tensors.embedding);
    if (checkpoint.config.experts)
        for (const LayerTensors& layer : tensors.layers)
            unread += unvisitedBytes(layer, *checkpoint.config.experts);
    const std::uint64_t total = checkpoint.weightBytes();
    return {.total = total, .perDecodeStep = total - std::min(total, unread)};
}

} // namespace kvscope
