#include "engine/base/cut_files.h"
#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/cache/open_chunk.h"
#include "engine/kernels/attention/attention.h"
#include "engine/kernels/elementwise/elementwise.h"
#include "engine/kernels/linear/linear.h"
#include "engine/model/decoder_impl.h"

#include <ATen/ops/arange.h>

#include <algorithm>
#include <vector>

// A chunk through the layers, operation by operation.

namespace kvscope {

at::Tensor Decoder::Impl::normalised(const at::Tensor& x, const NormWeights& norm,
                                     KernelPath path) const
{
    if (!norm.gain.defined())
        return x;
    const bool isReference = path == KernelPath::Reference;
    const double epsilon = config().normEpsilon;
    if (config().norm == NormKind::Layer)
        return isReference ? layerNormReference(x, norm.gain, norm.bias, epsilon)
                           : layerNorm(x, norm.gain, norm.bias, epsilon);
    return isReference ? rmsNormReference(x, norm.gain, epsilon) : rmsNorm(x, norm.gain, epsilon);
}

/// \param ids  [B, T] \returns [B, T, E]
at::Tensor Decoder::Impl::embedded(const at::Tensor& ids, std::int64_t firstPosition) const
{
    const std::int64_t T = ids.size(1);
    at::Tensor x = lookUpRows(weights.embedding, ids.flatten().to(device).contiguous());
    if (config().embeddingScale != 1.0)
        x = x.mul(config().embeddingScale);
    x = x.view({ids.size(0), T, config().modelWidth});
    if (config().hasLearnedPositions)
        x = x.add(
            lookUpRows(weights.positions, at::arange(firstPosition, firstPosition + T,
                                                     at::TensorOptions(at::kLong).device(device))));
    return x.to(activationType()).contiguous();
}

/// A projection of the input as heads, [B, T, heads, D], normalised where the family does.
at::Tensor Decoder::Impl::heads(const at::Tensor& projected, const NormWeights& norm,
                                at::IntArrayRef shape, KernelPath path) const
{
    if (config().queryKeyNorm == QueryKeyNorm::All)
        return normalised(projected, norm, path).view(shape);
    return normalised(projected.view({-1, config().headDim}), norm, path).view(shape);
}

void Decoder::Impl::rotateHeads(at::Tensor& x, std::int64_t layer,
                                const std::vector<RotaryRows>& rows, std::int64_t firstRow,
                                KernelPath path) const
{
    const auto index = static_cast<std::size_t>(layer);
    if (!config().layers[index].isRotated)
        return;
    const std::size_t table = rotaryOfLayer[index];
    const RotaryPairing pairing = rotary[table].pairing();
    at::Tensor part = x.narrow(3, 0, rotary[table].rotatedDim());
    const at::Tensor cos = rows[table].cos.narrow(0, firstRow, x.size(1));
    const at::Tensor sin = rows[table].sin.narrow(0, firstRow, x.size(1));
    if (path == KernelPath::Reference)
        part.copy_(rotateReference(part, cos, sin, pairing));
    else
        rotate(part, cos, sin, pairing);
}

at::Tensor Decoder::Impl::attend(const at::Tensor& x, std::int64_t layer,
                                 const std::vector<RotaryRows>& rows, MixedKVCache* cache,
                                 const ForwardOptions& options, std::int64_t firstPosition,
                                 std::int64_t numOutputs) const
{
    const LayerWeights& w = weights.layers[static_cast<std::size_t>(layer)];
    const LayerConfig& shape = config().layers[static_cast<std::size_t>(layer)];
    const ModelConfig& c = config();
    const std::int64_t B = x.size(0);
    const std::int64_t T = x.size(1);
    const at::Tensor normed =
        normalised(x.view({B * T, c.modelWidth}), w.attentionNorm, options.path);
    const ProductSettings multiplying = settingsOf(options.path);
    const auto projected = numOutputs == T
                               ? products(normed, {&w.key, &w.value, &w.query}, multiplying)
                               : products(normed, {&w.key, &w.value}, multiplying);
    at::Tensor k = heads(projected[0], w.keyNorm, {B, T, c.numKvHeads, c.headDim}, options.path);
    const at::Tensor v = projected[1].view({B, T, c.numKvHeads, c.headDim});
    rotateHeads(k, layer, rows, 0, options.path);

    const at::Tensor keys = k.transpose(1, 2);
    const at::Tensor values = v.transpose(1, 2);
    KVView view;
    if (cache != nullptr)
        view = cache->stage(layer, keys, values);
    else
        view.add({keys, values, firstPosition});
    if (numOutputs == 0)
        return {};

    const std::int64_t skipped = T - numOutputs;
    const std::int64_t numRows = B * numOutputs;
    at::Tensor q =
        numOutputs == T
            ? projected[2]
            : product(newest(normed.view_as(x), numOutputs).view({numRows, c.modelWidth}), w.query,
                      multiplying);
    q = heads(q, w.queryNorm, {B, numOutputs, c.numHeads, c.headDim}, options.path);
    rotateHeads(q, layer, rows, skipped, options.path);

    AttentionSettings settings;
    settings.scale = c.scoreScale();
    settings.window = shape.kind == LayerKind::Windowed ? shape.window : 0;
    settings.softCap = c.attentionSoftCap;
    settings.sinks = w.sink;
    settings.isExact = multiplying.precision == Precision::Exact;
    // Of one token after the other; a longer chunk reads the cache a block at a time.
    settings.isStreamed = device.is_cpu() && cache != nullptr && T == 1 &&
                          stepSettings.streamsCache(cache->liveBytes());
    const auto attending = options.path == KernelPath::Reference ? attentionReference : attention;
    const at::Tensor mixed = attending(q, view, firstPosition + skipped, settings);
    const at::Tensor out =
        product(mixed.reshape({numRows, c.numHeads * c.headDim}), w.output, multiplying);
    return normalised(out, w.attentionPostNorm, options.path).view({B, numOutputs, c.modelWidth});
}

at::Tensor Decoder::Impl::transform(const at::Tensor& x, std::int64_t layer,
                                    const ForwardOptions& options) const
{
    const LayerWeights& w = weights.layers[static_cast<std::size_t>(layer)];
    const ProductSettings settings = settingsOf(options.path);
    const Activation activation = config().activation;
    const at::Tensor normed =
        normalised(x.view({x.size(0) * x.size(1), x.size(2)}), w.feedForwardNorm, options.path);
    at::Tensor out;
    if (config().layers[static_cast<std::size_t>(layer)].hasExperts) {
        const Routing routing =
            route(normed, w.experts, *config().experts, settingsOf(options.path));
        if (options.hooks != nullptr && options.hooks->afterRouting)
            options.hooks->afterRouting(layer, routing.experts);
        out = mixtureOfExperts(normed, w.experts, routing, activation, settings);
    } else {
        out = feedForward(normed, w.dense, activation, settings);
    }
    return normalised(out, w.feedForwardPostNorm, options.path).view_as(x);
}

at::Tensor Decoder::Impl::runLayers(const at::Tensor& ids, MixedKVCache* cache,
                                    const ForwardOptions& options, LogitPositions wanted) const
{
    const std::int64_t firstPosition = checkedPosition(ids, cache, options);
    const std::int64_t T = ids.size(1);
    const bool areAllSeen = wanted == LogitPositions::All || options.hooks != nullptr ||
                            options.path == KernelPath::Reference;
    const std::int64_t numWanted = areAllSeen ? T : wanted == LogitPositions::Last ? 1 : 0;
    OpenChunk chunk(cache, T);
    const auto rows = rotaryRows(firstPosition, T, options.plannedLength, device);
    at::Tensor x = embedded(ids, firstPosition);
    const auto watch = [&](std::int64_t layer) {
        if (options.hooks != nullptr && options.hooks->afterLayer)
            options.hooks->afterLayer(layer, x);
    };
    watch(-1);
    const double scale = config().residualScale;
    for (std::int64_t layer = 0; layer < config().numLayers(); ++layer) {
        if (options.stop.stop_requested())
            throw Stopped{};
        const std::int64_t numOutputs = layer + 1 < config().numLayers() ? T : numWanted;
        const at::Tensor added = attend(x, layer, rows, cache, options, firstPosition, numOutputs);
        x = newest(x, numOutputs);
        if (numOutputs == 0)
            break;
        x.add_(added, scale);
        x.add_(transform(x, layer, options), scale);
        watch(layer);
    }
    requireWholeFiles();
    chunk.commit();
    return x;
}

} // namespace kvscope
