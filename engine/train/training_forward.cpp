#include "engine/train/training_forward.h"

#include "engine/kernels/cpu_features.h"
#include "engine/model/decoder_weights.h"
#include "engine/train/expert_balance.h"
#include "engine/train/training_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

namespace kvscope {
namespace {

at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& gain, double epsilon)
{
    return x * at::rsqrt(x.square().mean(-1, true) + epsilon) * gain;
}

/// Adjacent pairs turned. \param x  [B, H, T, D]
at::Tensor rotated(const at::Tensor& x, const RotaryRows& rows)
{
    const at::Tensor pairs = x.unflatten(3, {-1, 2});
    const at::Tensor even = pairs.select(4, 0);
    const at::Tensor odd = pairs.select(4, 1);
    return at::stack({even * rows.cos - odd * rows.sin, even * rows.sin + odd * rows.cos}, 4)
        .flatten(3);
}

/// Rows of the positions 0, stride, 2 stride, ...
RotaryRows spreadRows(const RotaryTable& table, std::int64_t length, std::int64_t stride)
{
    RotaryRows rows = table.rows(0, length * stride, length * stride);
    if (stride > 1) {
        rows.cos = rows.cos.slice(0, 0, length * stride, stride);
        rows.sin = rows.sin.slice(0, 0, length * stride, stride);
    }
    return rows;
}

} // namespace

at::ScalarType trainingProducts()
{
    return hasBFloat16Products() ? at::kBFloat16 : at::kFloat;
}

TrainingForward::TrainingForward(ModelConfig config, at::ScalarType productType)
    : m_config(std::move(config))
    , m_productType(productType)
{
    for (const LayerConfig& layer : m_config.layers)
        m_rotary.emplace_back(m_config.rotaryOf(layer), m_config.headDim, layer.identityPairs);
}

TrainingOutput TrainingForward::operator()(const TrainingParameters& parameters,
                                           const at::Tensor& ids, std::int64_t stride) const
{
    TrainingOutput output;
    output.balance = at::zeros({}, at::kFloat);
    output.load = at::zeros({m_config.numLayers(), m_config.experts->numExperts}, at::kFloat);
    at::Tensor x = at::embedding(parameters[parameters.embedding()], ids); // [B, T, E]
    for (std::size_t i = 0; i < m_config.layers.size(); ++i) {
        const BlockParameters& block = parameters.blocks()[i];
        x = x + attention(parameters, i,
                          rmsNorm(x, parameters[block.attentionNorm], m_config.normEpsilon),
                          stride);
        const at::Tensor normed =
            rmsNorm(x, parameters[block.feedForwardNorm], m_config.normEpsilon);
        x = x + experts(parameters, i, normed, output);
    }
    output.balance = output.balance / static_cast<double>(m_config.numLayers());
    output.hidden =
        rmsNorm(x, parameters[parameters.lastNorm()], m_config.normEpsilon).flatten(0, 1);
    return output;
}

at::Tensor TrainingForward::linear(const at::Tensor& x, const at::Tensor& weight) const
{
    if (m_productType == at::kFloat)
        return at::linear(x, weight);
    return at::linear(x.to(m_productType), weight.to(m_productType)).to(at::kFloat);
}

at::Tensor TrainingForward::expert(const TrainingParameters& parameters,
                                   const ExpertParameters& weights, const at::Tensor& x) const
{
    return linear(at::silu(linear(x, parameters[weights.gate])) * linear(x, parameters[weights.up]),
                  parameters[weights.down]);
}

at::Tensor TrainingForward::logits(const TrainingParameters& parameters,
                                   const at::Tensor& hidden) const
{
    return linear(hidden, parameters[parameters.embedding()]);
}

at::Tensor TrainingForward::attention(const TrainingParameters& parameters, std::size_t layer,
                                      const at::Tensor& x, std::int64_t stride) const
{
    const BlockParameters& block = parameters.blocks()[layer];
    const LayerConfig& kind = m_config.layers[layer];
    const std::int64_t batch = x.size(0), length = x.size(1);
    const auto heads = [&](const at::Tensor& y, std::int64_t count) {
        return y.view({batch, length, count, m_config.headDim}).transpose(1, 2);
    };
    const at::Tensor kv = linear(x, parameters[block.keyValue]);
    const std::int64_t kvWidth = m_config.numKvHeads * m_config.headDim;
    const bool isGlobal = kind.kind == LayerKind::Global;
    const RotaryRows rows = spreadRows(m_rotary[layer], length, isGlobal ? stride : 1);
    const at::Tensor q =
        rotated(heads(linear(x, parameters[block.query]), m_config.numHeads), rows);
    const at::Tensor k =
        rotated(heads(kv.slice(2, 0, kvWidth).contiguous(), m_config.numKvHeads), rows);
    const at::Tensor v = heads(kv.slice(2, kvWidth).contiguous(), m_config.numKvHeads);
    const at::Tensor sinks = parameters[block.sink].clamp(kSinkClampMin, kSinkClampMax);
    const at::Tensor mixed = kind.kind == LayerKind::Windowed
                                 ? windowedAttentionWithSinks(q, k, v, sinks, kind.window)
                                 : causalAttentionWithSinks(q, k, v, sinks);
    return linear(mixed.transpose(1, 2).flatten(2), parameters[block.output]);
}

at::Tensor TrainingForward::experts(const TrainingParameters& parameters, std::size_t layer,
                                    const at::Tensor& texts, TrainingOutput& output) const
{
    const at::Tensor x = texts.flatten(0, 1);
    const BlockParameters& block = parameters.blocks()[layer];
    const MoEConfig& moe = *m_config.experts;
    // The router stays in float32, as everywhere: a near tie must not flip.
    const at::Tensor probabilities = at::softmax(at::linear(x, parameters[block.router]), -1);
    const auto [chosen, experts] = at::topk(probabilities, moe.numActive);
    const at::Tensor weights = chosen / chosen.sum(-1, true);
    // Visits sorted by expert, so that each expert's rows lie together.
    const at::Tensor visits = experts.flatten(); // [N * k]
    const at::Tensor order = at::argsort(visits, true, 0, false);
    const at::Tensor rows = order.div(moe.numActive, "floor");
    const at::Tensor counts = at::bincount(visits, {}, moe.numExperts);
    output.load.select(0, static_cast<std::int64_t>(layer))
        .copy_(counts.to(at::kFloat) / static_cast<double>(visits.numel()));
    const at::Tensor gathered = x.index_select(0, rows);
    std::vector<at::Tensor> parts;
    std::int64_t first = 0;
    for (std::size_t e = 0; e < block.experts.size(); ++e) {
        const auto count = counts[static_cast<std::int64_t>(e)].item<std::int64_t>();
        if (count > 0)
            parts.push_back(
                expert(parameters, block.experts[e], gathered.slice(0, first, first + count)));
        first += count;
    }
    const at::Tensor weighted =
        at::cat(parts) * weights.flatten().index_select(0, order).unsqueeze(1);
    at::Tensor sum = at::zeros_like(x).index_add(0, rows, weighted);
    output.balance = output.balance + expertBalance(probabilities, experts, texts.size(0));
    for (const ExpertParameters& shared : block.shared)
        sum = sum + expert(parameters, shared, x);
    return sum.view_as(texts);
}

} // namespace kvscope
