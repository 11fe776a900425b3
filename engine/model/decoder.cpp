#include "engine/model/decoder.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/kernels/attention.h"
#include "engine/kernels/cuda_backend.h"
#include "engine/kernels/elementwise.h"
#include "engine/kernels/linear.h"
#include "engine/model/decoder_weights.h"
#include "engine/model/feed_forward.h"
#include "engine/model/rotary.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace kvscope {
namespace {

at::Device parsedDevice(const std::string& name)
{
    if (name == "cpu")
        return at::kCPU;
    const std::string index = name.starts_with("cuda:") ? name.substr(5) : "";
    const bool isNumber =
        !index.empty() && index.size() <= 2 &&
        std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (name != "cuda" && !isNumber)
        throw ArgumentError("device '" + name + "' is not one of cpu, cuda, cuda:N");
    ensureCudaBackend();
    return {at::kCUDA, static_cast<c10::DeviceIndex>(isNumber ? std::stoi(index) : 0)};
}

/// Auto follows a file that is float32 throughout; anything else computes in the fast default.
ComputeType resolvedType(const Checkpoint& checkpoint, ComputeType asked)
{
    if (asked != ComputeType::Auto)
        return asked;
    const auto isFloat = [](const auto& named) { return named.second.type == StorageType::F32; };
    const bool allFloat =
        std::all_of(checkpoint.files.begin(), checkpoint.files.end(), [&](const auto& file) {
            return std::all_of(file->tensors().begin(), file->tensors().end(), isFloat);
        });
    return allFloat ? ComputeType::Float32 : ComputeType::Auto;
}

at::ScalarType cacheScalarType(ComputeType cache, ComputeType compute)
{
    if (cache == ComputeType::Auto)
        cache = compute;
    return cache == ComputeType::Float32   ? at::kFloat
           : cache == ComputeType::Float16 ? at::kHalf
                                           : at::kBFloat16;
}

/// Gives a staged chunk back unless it was committed.
class OpenChunk
{
public:
    OpenChunk(MixedKVCache* cache, std::int64_t numTokens)
        : m_cache(cache)
    {
        if (m_cache != nullptr)
            m_cache->beginChunk(numTokens);
    }
    ~OpenChunk()
    {
        if (m_cache != nullptr)
            m_cache->discardChunk();
    }
    OpenChunk(const OpenChunk&) = delete;
    OpenChunk& operator=(const OpenChunk&) = delete;
    void commit()
    {
        if (m_cache != nullptr)
            std::exchange(m_cache, nullptr)->commitChunk();
    }

private:
    MixedKVCache* m_cache;
};

} // namespace

struct Decoder::Impl
{
    std::shared_ptr<const Checkpoint> checkpoint;
    at::Device device = at::kCPU;
    ComputeType compute = ComputeType::Auto;
    at::ScalarType cacheType = at::kBFloat16;
    DecoderWeights weights;
    std::map<std::int64_t, RotaryTable> rotary; ///< by the number of identity pairs

    const ModelConfig& config() const { return checkpoint->config; }
    ProductSettings products(KernelPath path) const
    {
        return {path, compute == ComputeType::Float32 ? Precision::Exact : Precision::Fast};
    }
    at::ScalarType activationType() const
    {
        if (device.is_cpu() || compute == ComputeType::Float32)
            return at::kFloat; // sums and activations stay float32 on the CPU, whatever the weights
                               // are
        return compute == ComputeType::Float16 ? at::kHalf : at::kBFloat16;
    }

    void checkIds(const at::Tensor& ids) const;
    std::map<std::int64_t, RotaryRows> rotaryRows(std::int64_t firstPosition,
                                                  std::int64_t count) const;
    at::Tensor normalised(const at::Tensor& x, const at::Tensor& gain, KernelPath path) const;
    at::Tensor attend(const at::Tensor& x, std::int64_t layer, const RotaryRows& rows,
                      MixedKVCache* cache, const ForwardOptions& options,
                      std::int64_t firstPosition) const;
    at::Tensor transform(const at::Tensor& x, std::int64_t layer,
                         const ForwardOptions& options) const;
    at::Tensor runLayers(const at::Tensor& ids, MixedKVCache* cache,
                         const ForwardOptions& options) const;
};

void Decoder::Impl::checkIds(const at::Tensor& ids) const
{
    if (ids.dim() != 2 || ids.numel() == 0 || ids.scalar_type() != at::kLong || !ids.is_cpu())
        throw ArgumentError(
            "token ids must be a non-empty [batch, tokens] array of 64-bit integers");
    const at::Tensor flat = ids.contiguous();
    const auto* first = flat.const_data_ptr<std::int64_t>();
    const auto* bad = std::find_if(first, first + flat.numel(), [&](std::int64_t id) {
        return id < 0 || id >= config().vocabularySize;
    });
    if (bad != first + flat.numel())
        throw ArgumentError("token id " + std::to_string(*bad) + " is outside the vocabulary of " +
                            formatCount(config().vocabularySize) + " ids");
}

std::map<std::int64_t, RotaryRows> Decoder::Impl::rotaryRows(std::int64_t firstPosition,
                                                             std::int64_t count) const
{
    std::map<std::int64_t, RotaryRows> rows;
    for (const auto& [identityPairs, table] : rotary) {
        RotaryRows made = table.rows(firstPosition, count);
        rows.emplace(identityPairs, RotaryRows{made.cos.to(device), made.sin.to(device)});
    }
    return rows;
}

at::Tensor Decoder::Impl::normalised(const at::Tensor& x, const at::Tensor& gain,
                                     KernelPath path) const
{
    return path == KernelPath::Reference ? rmsNormReference(x, gain, config().normEpsilon)
                                         : rmsNorm(x, gain, config().normEpsilon);
}

at::Tensor Decoder::Impl::attend(const at::Tensor& x, std::int64_t layer, const RotaryRows& rows,
                                 MixedKVCache* cache, const ForwardOptions& options,
                                 std::int64_t firstPosition) const
{
    const LayerWeights& w = weights.layers[static_cast<std::size_t>(layer)];
    const LayerConfig& shape = config().layers[static_cast<std::size_t>(layer)];
    const ModelConfig& c = config();
    const std::int64_t B = x.size(0);
    const std::int64_t T = x.size(1);
    const ProductSettings settings = products(options.path);
    const at::Tensor normed =
        normalised(x.view({B * T, c.modelWidth}), w.attentionNorm, options.path);

    at::Tensor q = product(normed, w.query, settings).view({B, T, c.numHeads, c.headDim});
    at::Tensor k;
    at::Tensor v;
    if (w.keyValue.rows > 0) {
        const at::Tensor fused =
            product(normed, w.keyValue, settings).view({B, T, 2, c.numKvHeads, c.headDim});
        k = fused.select(2, 0);
        v = fused.select(2, 1);
    } else {
        k = product(normed, w.key, settings).view({B, T, c.numKvHeads, c.headDim});
        v = product(normed, w.value, settings).view({B, T, c.numKvHeads, c.headDim});
    }
    if (options.path == KernelPath::Reference) {
        q = rotateReference(q, rows.cos, rows.sin, c.rotary.pairing);
        k = rotateReference(k, rows.cos, rows.sin, c.rotary.pairing);
    } else {
        rotate(q, rows.cos, rows.sin, c.rotary.pairing);
        rotate(k, rows.cos, rows.sin, c.rotary.pairing);
    }

    const at::Tensor keys = k.transpose(1, 2);
    const at::Tensor values = v.transpose(1, 2);
    KVView view;
    if (cache != nullptr)
        view = cache->stage(layer, keys, values);
    else
        view.add({keys, values, firstPosition});

    AttentionSettings attentionSettings;
    attentionSettings.scale = 1.0 / std::sqrt(static_cast<double>(c.headDim));
    attentionSettings.window = shape.kind == LayerKind::Windowed ? shape.window : 0;
    attentionSettings.sinks = w.sink;
    const at::Tensor mixed = options.path == KernelPath::Reference
                                 ? attentionReference(q, view, firstPosition, attentionSettings)
                                 : attention(q, view, firstPosition, attentionSettings);
    return product(mixed.reshape({B * T, c.numHeads * c.headDim}), w.output, settings).view_as(x);
}

at::Tensor Decoder::Impl::transform(const at::Tensor& x, std::int64_t layer,
                                    const ForwardOptions& options) const
{
    const LayerWeights& w = weights.layers[static_cast<std::size_t>(layer)];
    const ProductSettings settings = products(options.path);
    const at::Tensor normed =
        normalised(x.view({x.size(0) * x.size(1), x.size(2)}), w.feedForwardNorm, options.path);
    if (!config().experts)
        return feedForward(normed, w.dense, settings).view_as(x);
    const Routing routing = route(normed, w.experts, settings);
    if (options.hooks != nullptr && options.hooks->afterRouting)
        options.hooks->afterRouting(layer, routing.experts);
    return mixtureOfExperts(normed, w.experts, routing, settings).view_as(x);
}

at::Tensor Decoder::Impl::runLayers(const at::Tensor& ids, MixedKVCache* cache,
                                    const ForwardOptions& options) const
{
    checkIds(ids);
    const std::int64_t B = ids.size(0);
    const std::int64_t T = ids.size(1);
    if (cache != nullptr && cache->shape().batch != B)
        throw ArgumentError("the cache was made for batch " + std::to_string(cache->shape().batch) +
                            ", the ids have batch " + std::to_string(B));
    const std::int64_t firstPosition = cache != nullptr ? cache->seqLen() : options.firstPosition;
    OpenChunk chunk(cache, T);
    const auto rows = rotaryRows(firstPosition, T);
    at::Tensor x = lookUpRows(weights.embedding, ids.reshape({B * T}).to(device).contiguous())
                       .to(activationType())
                       .view({B, T, config().modelWidth});
    const auto watch = [&](std::int64_t layer) {
        if (options.hooks != nullptr && options.hooks->afterLayer)
            options.hooks->afterLayer(layer, x);
    };
    watch(-1);
    for (std::int64_t layer = 0; layer < config().numLayers(); ++layer) {
        if (options.stop.stop_requested())
            throw Stopped{};
        const std::int64_t identityPairs =
            config().layers[static_cast<std::size_t>(layer)].identityPairs;
        x.add_(attend(x, layer, rows.at(identityPairs), cache, options, firstPosition));
        x.add_(transform(x, layer, options));
        watch(layer);
    }
    chunk.commit();
    return x;
}

Decoder::Decoder(std::shared_ptr<const Checkpoint> checkpoint, DecoderOptions options)
    : m_impl(std::make_unique<Impl>())
{
    const c10::InferenceMode inference;
    m_impl->device = parsedDevice(options.device);
    m_impl->checkpoint = std::move(checkpoint);
    m_impl->compute = resolvedType(*m_impl->checkpoint, options.computeType);
    m_impl->cacheType = cacheScalarType(options.cacheType, m_impl->compute);
    m_impl->weights = loadWeights(*m_impl->checkpoint, m_impl->device, m_impl->compute, options);
    for (const LayerConfig& layer : config().layers)
        m_impl->rotary.try_emplace(layer.identityPairs, config().rotary, config().headDim,
                                   layer.identityPairs);
}

Decoder::~Decoder() = default;

const ModelConfig& Decoder::config() const
{
    return m_impl->config();
}

const Checkpoint& Decoder::checkpoint() const
{
    return *m_impl->checkpoint;
}

at::Device Decoder::device() const
{
    return m_impl->device;
}

std::string Decoder::computeDescription() const
{
    const std::string cache = m_impl->cacheType == at::kFloat      ? "float32"
                              : m_impl->cacheType == at::kBFloat16 ? "bfloat16"
                                                                   : "float16";
    std::string weights = m_impl->checkpoint->storageSummary() + " weights";
    if (m_impl->compute == ComputeType::BFloat16)
        weights = "bfloat16 weights";
    if (m_impl->compute == ComputeType::Float16)
        weights = "float16 weights";
    return weights + (m_impl->compute == ComputeType::Float32 ? ", float32 arithmetic, " : ", ") +
           cache + " cache";
}

std::uint64_t Decoder::weightBytes() const
{
    return totalBytes(m_impl->weights);
}

std::uint64_t Decoder::activeWeightBytes() const
{
    return activeBytes(m_impl->weights);
}

MixedKVCache Decoder::makeCache(std::int64_t batch, std::int64_t ringSlack) const
{
    const c10::InferenceMode inference;
    CacheShape shape;
    for (const LayerConfig& layer : config().layers)
        shape.layers.push_back({layer.kind == LayerKind::Windowed, layer.window});
    shape.batch = batch;
    shape.numKvHeads = config().numKvHeads;
    shape.headDim = config().headDim;
    shape.ringSlack = ringSlack;
    return {std::move(shape), at::TensorOptions(m_impl->cacheType).device(m_impl->device)};
}

at::Tensor Decoder::forward(const at::Tensor& ids, MixedKVCache* cache,
                            const ForwardOptions& options)
{
    const c10::InferenceMode inference;
    at::Tensor x = m_impl->runLayers(ids, cache, options);
    if (options.logits == LogitPositions::None)
        return {};
    if (options.logits == LogitPositions::Last)
        x = x.narrow(1, x.size(1) - 1, 1).contiguous();
    const at::Tensor rows = x.view({-1, config().modelWidth});
    return head(m_impl->normalised(rows, m_impl->weights.finalNorm, options.path), options.path)
        .view({x.size(0), x.size(1), config().vocabularySize});
}

at::Tensor Decoder::forwardHidden(const at::Tensor& ids, MixedKVCache* cache,
                                  const ForwardOptions& options)
{
    const c10::InferenceMode inference;
    const at::Tensor x = m_impl->runLayers(ids, cache, options);
    return m_impl
        ->normalised(x.view({-1, config().modelWidth}), m_impl->weights.finalNorm, options.path)
        .view_as(x);
}

at::Tensor Decoder::head(const at::Tensor& hidden, KernelPath path) const
{
    const c10::InferenceMode inference;
    return product(hidden, m_impl->weights.head, m_impl->products(path)).to(at::kFloat);
}

} // namespace kvscope
