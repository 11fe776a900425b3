#include "engine/model/decoder_weights.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/kernels/device_memory.h"
#include "engine/model/weight_reader.h"

#include <ATen/ops/clamp.h>

#include <algorithm>

namespace kvscope {
namespace {

/// What tensors of a type take once they are loaded: WeightReader converts plain ones where a type
/// was asked for, and for a GPU.
std::uint64_t loadedBytes(StorageType stored, std::uint64_t bytes, at::Device device,
                          ComputeType type)
{
    const bool isPlain =
        stored == StorageType::F32 || stored == StorageType::F16 || stored == StorageType::BF16;
    if (!isPlain)
        return bytes;
    const std::uint64_t elements = bytes / (stored == StorageType::F32 ? 4 : 2);
    switch (type) {
    case ComputeType::BFloat16:
    case ComputeType::Float16:
        return 2 * elements;
    case ComputeType::Float32:
        return device.is_cpu() ? bytes : 4 * elements;
    case ComputeType::Auto:
        break;
    }
    return device.is_cpu() ? bytes : 2 * elements;
}

void requireMemory(const Checkpoint& checkpoint, at::Device device, ComputeType type)
{
    std::uint64_t needed = 0;
    for (const auto& [stored, bytes] : checkpoint.storageBytes())
        needed += loadedBytes(stored, bytes, device, type);
    const auto available = readFreeMemory(device);
    if (available && needed > *available)
        throw MemoryError("the weights of " + checkpoint.path.filename().string() + " need " +
                          formatBytes(needed) + ", " +
                          (device.is_cpu() ? "this machine" : device.str()) + " has " +
                          formatBytes(*available) + " free");
}

NormWeights loadNorm(WeightReader& reader, const NormTensors& tensors, const ModelConfig& config)
{
    NormWeights norm;
    norm.gain = reader.vector(tensors.gain);
    norm.bias = reader.vector(tensors.bias);
    if (norm.gain.defined() && config.addsOneToGains)
        norm.gain = norm.gain.add(1.0);
    return norm;
}

MoEWeights loadExperts(WeightReader& reader, const LayerTensors& tensors)
{
    MoEWeights experts;
    experts.router = reader.linear(tensors.router);
    experts.experts = reader.feedForwards(tensors.experts);
    experts.shared = reader.feedForwards(tensors.sharedExperts);
    experts.sharedGate = reader.matrix(tensors.sharedGate);
    return experts;
}

LayerWeights loadLayer(WeightReader& reader, const LayerTensors& tensors, const ModelConfig& config)
{
    LayerWeights layer;
    layer.attentionNorm = loadNorm(reader, tensors.attentionNorm, config);
    layer.query = reader.linear(tensors.query);
    layer.key = reader.linear(tensors.key);
    layer.value = reader.linear(tensors.value);
    layer.queryNorm = loadNorm(reader, {tensors.queryNorm, {}}, config);
    layer.keyNorm = loadNorm(reader, {tensors.keyNorm, {}}, config);
    layer.output = reader.linear(tensors.output);
    layer.sink = reader.vector(tensors.sink);
    if (layer.sink.defined() && config.clampsSinks)
        layer.sink = at::clamp(layer.sink, kSinkClampMin, kSinkClampMax);
    layer.attentionPostNorm = loadNorm(reader, tensors.attentionPostNorm, config);
    layer.feedForwardNorm = loadNorm(reader, tensors.feedForwardNorm, config);
    layer.dense = reader.feedForward(tensors.dense);
    layer.experts = loadExperts(reader, tensors);
    layer.feedForwardPostNorm = loadNorm(reader, tensors.feedForwardPostNorm, config);
    return layer;
}

std::uint64_t bytesOf(const at::Tensor& tensor)
{
    return tensor.defined() ? tensor.nbytes() : 0;
}

std::uint64_t bytesOf(const WeightMatrix& weight)
{
    return weight.rows == 0 ? 0 : weight.bytes();
}

std::uint64_t bytesOf(const LinearWeights& linear)
{
    return bytesOf(linear.weight) + bytesOf(linear.bias);
}

std::uint64_t bytesOf(const NormWeights& norm)
{
    return bytesOf(norm.gain) + bytesOf(norm.bias);
}

std::uint64_t bytesOf(const FeedForwardWeights& weights)
{
    return bytesOf(weights.gate) + bytesOf(weights.up) + bytesOf(weights.down);
}

/// \param numExperts  how many of the routed experts count
std::uint64_t bytesOf(const LayerWeights& layer, std::size_t numExperts)
{
    std::uint64_t bytes = bytesOf(layer.dense) + bytesOf(layer.experts.router) +
                          bytesOf(layer.experts.sharedGate) + bytesOf(layer.sink);
    for (const LinearWeights* linear : {&layer.query, &layer.key, &layer.value, &layer.output})
        bytes += bytesOf(*linear);
    for (const NormWeights* norm :
         {&layer.attentionNorm, &layer.queryNorm, &layer.keyNorm, &layer.attentionPostNorm,
          &layer.feedForwardNorm, &layer.feedForwardPostNorm})
        bytes += bytesOf(*norm);
    for (std::size_t e = 0; e < std::min(numExperts, layer.experts.experts.size()); ++e)
        bytes += bytesOf(layer.experts.experts[e]);
    for (const FeedForwardWeights& shared : layer.experts.shared)
        bytes += bytesOf(shared);
    return bytes;
}

} // namespace

DecoderWeights loadWeights(const Checkpoint& checkpoint, at::Device device, ComputeType type,
                           const DecoderOptions& options)
{
    requireMemory(checkpoint, device, type);
    WeightReader reader(checkpoint.weightBytes(), device, type, options);
    const ModelTensors& tensors = checkpoint.tensors;
    DecoderWeights weights;
    weights.embedding = reader.matrix(tensors.embedding);
    weights.positions = reader.matrix(tensors.positions);
    weights.finalNorm = loadNorm(reader, tensors.finalNorm, checkpoint.config);
    weights.head = tensors.head.weight ? reader.matrix(tensors.head.weight) : weights.embedding;
    weights.layers.reserve(tensors.layers.size());
    for (const LayerTensors& layer : tensors.layers)
        weights.layers.push_back(loadLayer(reader, layer, checkpoint.config));
    return weights;
}

std::uint64_t totalBytes(const DecoderWeights& weights)
{
    std::uint64_t bytes =
        bytesOf(weights.embedding) + bytesOf(weights.positions) + bytesOf(weights.finalNorm);
    if (!weights.head.data.is_same(weights.embedding.data))
        bytes += bytesOf(weights.head);
    for (const LayerWeights& layer : weights.layers)
        bytes += bytesOf(layer, layer.experts.experts.size());
    return bytes;
}

std::uint64_t activeBytes(const DecoderWeights& weights, std::int64_t activeExperts)
{
    std::uint64_t bytes = bytesOf(weights.head) + bytesOf(weights.finalNorm);
    for (const LayerWeights& layer : weights.layers)
        bytes += bytesOf(layer, static_cast<std::size_t>(activeExperts));
    return bytes;
}

} // namespace kvscope
