#include "engine/lab/sink_probe.h"

#include "engine/kernels/elementwise/elementwise.h"
#include "engine/model/feed_forward.h"
#include "engine/model/rotary.h"
#include "engine/model/weight_reader.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

namespace kvscope {
namespace {

constexpr std::int64_t kScoresAtOnce = std::int64_t{1} << 24; // 64 MiB of float32

/// [1, T, heads, D] rotated in place as the layer does, from position 0 on.
void rotateHeads(at::Tensor& heads, const ModelConfig& config, const LayerConfig& layer)
{
    if (!layer.isRotated || config.hasLearnedPositions)
        return;
    const RotaryTable table(config.rotaryOf(layer), config.headDim, layer.identityPairs);
    const RotaryRows rows = table.rows(0, heads.size(1), heads.size(1));
    at::Tensor part = heads.narrow(3, 0, table.rotatedDim());
    rotate(part, rows.cos, rows.sin, table.pairing());
}

/// Which of the keys firstKey, ... each query must not see. [queries, keys]
at::Tensor hiddenKeys(std::int64_t firstQuery, std::int64_t numQueries, std::int64_t firstKey,
                      std::int64_t numKeys, std::int64_t window)
{
    const at::Tensor distance =
        at::arange(firstQuery, firstQuery + numQueries, at::kLong).unsqueeze(1) -
        at::arange(firstKey, firstKey + numKeys, at::kLong).unsqueeze(0);
    const at::Tensor isLater = distance.lt(0);
    return window > 0 ? isLater.logical_or(distance.ge(window)) : isLater;
}

/// Sum over the queries of the probability on the sink. [H]
/// \param q  [Hkv, H / Hkv, queries, D] \param k  [Hkv, 1, keys, D] \param sinks  [H]
at::Tensor sinkMass(const at::Tensor& q, const at::Tensor& k, const at::Tensor& hidden,
                    const at::Tensor& sinks, const ModelConfig& config)
{
    at::Tensor scores = at::matmul(q, k.transpose(2, 3)) * config.scoreScale();
    if (config.attentionSoftCap > 0.0)
        softCap(scores, config.attentionSoftCap);
    scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
    const at::Tensor column =
        sinks.view({q.size(0), q.size(1), 1, 1}).expand({q.size(0), q.size(1), q.size(2), 1});
    return at::softmax(at::cat({column, scores}, 3), 3)
        .select(3, 0)
        .sum({2}, false, at::kDouble)
        .flatten();
}

/// Each layer's as attention reads them. Query head h looks at key/value head h / (H / Hkv).
struct QueriesAndKeys
{
    at::Tensor queries; ///< [Hkv, H / Hkv, T, D]
    at::Tensor keys;    ///< [Hkv, 1, T, D]
};

/// \param residual  [1, T, E]
QueriesAndKeys queriesAndKeys(const ModelConfig& config, const LayerConfig& layer,
                              const LayerTensors& tensors, WeightReader& reader,
                              const at::Tensor& residual)
{
    const std::int64_t T = residual.size(1), D = config.headDim;
    const at::Tensor x = residual.to(at::kCPU, at::kFloat).contiguous().view({T, -1});
    const at::Tensor normed =
        rmsNorm(x, reader.vector(tensors.attentionNorm.gain), config.normEpsilon);
    const ProductSettings exact{KernelPath::Fast, Precision::Exact};
    at::Tensor q = product(normed, reader.linear(tensors.query), exact).view({1, T, -1, D});
    at::Tensor k = product(normed, reader.linear(tensors.key), exact).view({1, T, -1, D});
    rotateHeads(q, config, layer);
    rotateHeads(k, config, layer);
    const std::int64_t numKeyHeads = config.numKvHeads;
    return {q.view({T, numKeyHeads, -1, D}).permute({1, 2, 0, 3}),
            k.view({T, numKeyHeads, 1, D}).permute({1, 2, 0, 3})};
}

/// The sinks as they are used. [H]
at::Tensor sinksOf(const ModelConfig& config, const LayerTensors& tensors, WeightReader& reader)
{
    const at::Tensor sinks = reader.vector(tensors.sink);
    return config.clampsSinks ? at::clamp(sinks, kSinkClampMin, kSinkClampMax) : sinks;
}

} // namespace

std::vector<double> SinkProbe::shares(std::int64_t layer, const at::Tensor& residual) const
{
    const Checkpoint& checkpoint = m_decoder.checkpoint();
    const ModelConfig& config = checkpoint.config;
    const LayerConfig& kind = config.layers[static_cast<std::size_t>(layer)];
    const LayerTensors& tensors = checkpoint.tensors.layers[static_cast<std::size_t>(layer)];
    const DecoderOptions options;
    WeightReader reader(checkpoint.weightBytes(), at::kCPU, ComputeType::Float32, options);
    const auto [queries, keys] = queriesAndKeys(config, kind, tensors, reader, residual);
    const at::Tensor sinks = sinksOf(config, tensors, reader);

    const std::int64_t T = residual.size(1);
    const std::int64_t window = kind.kind == LayerKind::Windowed ? kind.window : 0;
    const std::int64_t block =
        std::clamp<std::int64_t>(kScoresAtOnce / (config.numHeads * T), 1, 256);
    at::Tensor mass = at::zeros({config.numHeads}, at::kDouble);
    for (std::int64_t first = 0; first < T; first += block) {
        const std::int64_t end = std::min(T, first + block);
        const std::int64_t firstKey =
            window > 0 ? std::max<std::int64_t>(0, first - window + 1) : 0;
        mass += sinkMass(queries.slice(2, first, end), keys.slice(2, firstKey, end),
                         hiddenKeys(first, end - first, firstKey, end - firstKey, window), sinks,
                         config);
    }
    mass /= static_cast<double>(T);
    const auto* values = mass.const_data_ptr<double>();
    return {values, values + mass.numel()};
}

} // namespace kvscope
