#include "engine/model/decoder_weights.h"

#include "engine/base/errors.h"
#include "engine/base/memory_reading.h"
#include "engine/base/units.h"

#include <ATen/ops/clamp.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

at::ScalarType scalarType(StorageType type)
{
    switch (type) {
    case StorageType::F32:
        return at::kFloat;
    case StorageType::F16:
        return at::kHalf;
    case StorageType::BF16:
        return at::kBFloat16;
    default:
        throw CheckpointError("a tensor stored as " + std::string(storageName(type)) +
                              " cannot be used as a weight");
    }
}

StorageType storageType(at::ScalarType type)
{
    return type == at::kFloat  ? StorageType::F32
           : type == at::kHalf ? StorageType::F16
                               : StorageType::BF16;
}

/// Turns TensorInfos into tensors, counting bytes for progress.
class Loader
{
public:
    Loader(const Checkpoint& checkpoint, at::Device device, ComputeType type,
           const DecoderOptions& options)
        : m_device(device)
        , m_type(type)
        , m_options(options)
        , m_totalBytes(checkpoint.weightBytes())
    {
    }

    WeightMatrix matrix(const TensorInfo* info)
    {
        WeightMatrix weight;
        if (info == nullptr)
            return weight;
        weight.type = info->type;
        weight.rows = info->shape.at(0);
        weight.cols = info->shape.at(1);
        readThrough(*info);
        if (isQuantized(info->type)) {
            const auto rowBytes = static_cast<std::int64_t>(info->data.size()) / weight.rows;
            weight.data = placed(mapped(*info, {weight.rows, rowBytes}, at::kByte));
            return weight;
        }
        at::Tensor plain = mapped(*info, info->shape, scalarType(info->type));
        weight.data = placed(plain.to(computedType(plain.scalar_type())));
        weight.type = storageType(weight.data.scalar_type());
        return weight;
    }

    /// Norm gains and sinks: small, always float32.
    at::Tensor vector(const TensorInfo* info)
    {
        readThrough(*info);
        return placed(mapped(*info, info->shape, scalarType(info->type)).to(at::kFloat));
    }

    FeedForwardWeights feedForward(const FeedForwardTensors& tensors)
    {
        return {matrix(tensors.gate), matrix(tensors.up), matrix(tensors.down)};
    }

    std::vector<FeedForwardWeights> feedForwards(const std::vector<FeedForwardTensors>& tensors)
    {
        std::vector<FeedForwardWeights> all;
        all.reserve(tensors.size());
        for (const FeedForwardTensors& one : tensors)
            all.push_back(feedForward(one));
        return all;
    }

private:
    /// A tensor over the file's bytes; copied where they are not aligned for their type.
    static at::Tensor mapped(const TensorInfo& info, at::IntArrayRef shape, at::ScalarType type)
    {
        auto* data = const_cast<std::byte*>(info.data.data());
        const auto alignment = static_cast<std::uintptr_t>(c10::elementSize(type));
        if (reinterpret_cast<std::uintptr_t>(data) % alignment == 0)
            return at::from_blob(data, shape, at::TensorOptions(type));
        const at::Tensor bytes = at::from_blob(data, {static_cast<std::int64_t>(info.data.size())},
                                               at::TensorOptions(at::kByte));
        return bytes.clone().view(type).view(shape);
    }

    at::ScalarType computedType(at::ScalarType stored) const
    {
        switch (m_type) {
        case ComputeType::BFloat16:
            return at::kBFloat16;
        case ComputeType::Float16:
            return at::kHalf;
        case ComputeType::Float32:
            return m_device.is_cpu() ? stored : at::kFloat;
        case ComputeType::Auto:
            break;
        }
        return m_device.is_cpu() ? stored : at::kBFloat16;
    }

    at::Tensor placed(const at::Tensor& tensor) const { return tensor.to(m_device).contiguous(); }

    /// Touches every page of a tensor, looking at the stop token and telling progress every few
    /// MiB.
    void readThrough(const TensorInfo& info)
    {
        constexpr std::size_t kPage = 4096;
        constexpr std::size_t kReport = std::size_t{8} << 20;
        unsigned sum = 0;
        for (std::size_t at = 0; at < info.data.size(); at += kReport) {
            const std::size_t end = std::min(at + kReport, info.data.size());
            for (std::size_t page = at; page < end; page += kPage)
                sum += std::to_integer<unsigned>(
                    static_cast<const volatile std::byte&>(info.data[page]));
            if (m_options.stop.stop_requested())
                throw Stopped{};
            m_doneBytes += end - at;
            if (m_options.progress)
                m_options.progress(m_doneBytes, m_totalBytes);
        }
        static_cast<void>(sum);
    }

    at::Device m_device;
    ComputeType m_type;
    const DecoderOptions& m_options;
    std::uint64_t m_totalBytes;
    std::uint64_t m_doneBytes = 0;
};

void requireHostMemory(const Checkpoint& checkpoint)
{
    const std::uint64_t needed = checkpoint.weightBytes();
    const auto available = readFreeHostMemory();
    if (available && needed > *available)
        throw MemoryError("the weights of " + checkpoint.path.filename().string() + " need " +
                          formatBytes(needed) + ", this machine has " + formatBytes(*available) +
                          " free");
}

LayerWeights loadLayer(Loader& loader, const LayerTensors& tensors, const ModelConfig& config)
{
    LayerWeights layer;
    layer.attentionNorm = loader.vector(tensors.attentionNorm);
    layer.query = loader.matrix(tensors.query);
    layer.key = loader.matrix(tensors.key);
    layer.value = loader.matrix(tensors.value);
    layer.keyValue = loader.matrix(tensors.keyValue);
    layer.output = loader.matrix(tensors.output);
    if (tensors.sink != nullptr)
        layer.sink = at::clamp(loader.vector(tensors.sink), kSinkClampMin, kSinkClampMax);
    layer.feedForwardNorm = loader.vector(tensors.feedForwardNorm);
    if (!config.experts) {
        layer.dense = loader.feedForward(tensors.dense);
        return layer;
    }
    layer.experts.router = loader.matrix(tensors.router);
    layer.experts.experts = loader.feedForwards(tensors.experts);
    layer.experts.shared = loader.feedForwards(tensors.sharedExperts);
    layer.experts.numActive = config.experts->numActive;
    return layer;
}

std::uint64_t bytesOf(const WeightMatrix& weight)
{
    return weight.rows == 0 ? 0 : weight.bytes();
}

std::uint64_t bytesOf(const FeedForwardWeights& weights)
{
    return bytesOf(weights.gate) + bytesOf(weights.up) + bytesOf(weights.down);
}

/// \param numExperts  how many of the routed experts count
std::uint64_t bytesOf(const LayerWeights& layer, std::size_t numExperts)
{
    std::uint64_t bytes = layer.attentionNorm.nbytes() + layer.feedForwardNorm.nbytes() +
                          bytesOf(layer.query) + bytesOf(layer.key) + bytesOf(layer.value) +
                          bytesOf(layer.keyValue) + bytesOf(layer.output) + bytesOf(layer.dense) +
                          bytesOf(layer.experts.router);
    if (layer.sink.defined())
        bytes += layer.sink.nbytes();
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
    requireHostMemory(checkpoint);
    Loader loader(checkpoint, device, type, options);
    DecoderWeights weights;
    weights.embedding = loader.matrix(checkpoint.tensors.embedding);
    weights.finalNorm = loader.vector(checkpoint.tensors.finalNorm);
    weights.head = checkpoint.tensors.head == nullptr ? weights.embedding
                                                      : loader.matrix(checkpoint.tensors.head);
    weights.layers.reserve(checkpoint.tensors.layers.size());
    for (const LayerTensors& layer : checkpoint.tensors.layers)
        weights.layers.push_back(loadLayer(loader, layer, checkpoint.config));
    return weights;
}

std::uint64_t totalBytes(const DecoderWeights& weights)
{
    std::uint64_t bytes = bytesOf(weights.embedding) + weights.finalNorm.nbytes();
    if (!weights.head.data.is_same(weights.embedding.data))
        bytes += bytesOf(weights.head);
    for (const LayerWeights& layer : weights.layers)
        bytes += bytesOf(layer, layer.experts.experts.size());
    return bytes;
}

std::uint64_t activeBytes(const DecoderWeights& weights)
{
    std::uint64_t bytes = bytesOf(weights.head) + weights.finalNorm.nbytes();
    for (const LayerWeights& layer : weights.layers)
        bytes += bytesOf(layer, static_cast<std::size_t>(layer.experts.numActive));
    return bytes;
}

} // namespace kvscope
