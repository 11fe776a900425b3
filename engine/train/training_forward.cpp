#include "engine/train/training_forward.h"

#include "engine/train/training_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros.h>

#include <utility>

namespace kvscope {
namespace {

// The architecture clamps sinks before use; see ModelConfig::clampsSinks.
constexpr double kLeastSink = -10.0;
constexpr double kMostSink = 15.0;

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

} // namespace

TrainingForward::TrainingForward(ModelConfig config, at::ScalarType productType)
    : m_config(std::move(config))
    , m_productType(productType)
{
    for (const LayerConfig& layer : m_config.layers)
        m_rotary.emplace_back(m_config.rotaryOf(layer), m_config.headDim, layer.identityPairs);
}

TrainingOutput TrainingForward::operator()(const TrainingParameters& parameters,
                                           const at::Tensor& ids) const
{
    TrainingOutput output;
    output.balance = at::zeros({}, at::kFloat);
    output.load = at::zeros({m_config.numLayers(), m_config.experts->numExperts}, at::kFloat);
    at::Tensor x = at::embedding(parameters[parameters.embedding()], ids); // [B, T, E]
    for (std::size_t i = 0; i < m_config.layers.size(); ++i) {
        const BlockParameters& block = parameters.blocks()[i];
        x = x + attention(parameters, i,
                          rmsNorm(x, parameters[block.attentionNorm], m_config.normEpsilon));
        const at::Tensor normed =
            rmsNorm(x, parameters[block.feedForwardNorm], m_config.normEpsilon);
        x = x + experts(parameters, i, normed.flatten(0, 1), output).view_as(x);
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
                                      const at::Tensor& x) const
{
    const BlockParameters& block = parameters.blocks()[layer];
    const LayerConfig& kind = m_config.layers[layer];
    const std::int64_t batch = x.size(0), length = x.size(1);
    const auto heads = [&](const at::Tensor& y, std::int64_t count) {
        return y.view({batch, length, count, m_config.headDim}).transpose(1, 2);
    };
    const at::Tensor kv = linear(x, parameters[block.keyValue]);
    const std::int64_t kvWidth = m_config.numKvHeads * m_config.headDim;
    const RotaryRows rows = m_rotary[layer].rows(0, length, length);
    const at::Tensor q =
        rotated(heads(linear(x, parameters[block.query]), m_config.numHeads), rows);
    const at::Tensor k =
        rotated(heads(kv.slice(2, 0, kvWidth).contiguous(), m_config.numKvHeads), rows);
    const at::Tensor v = heads(kv.slice(2, kvWidth).contiguous(), m_config.numKvHeads);
    const at::Tensor sinks = parameters[block.sink].clamp(kLeastSink, kMostSink);
    const at::Tensor mixed = kind.kind == LayerKind::Windowed
                                 ? windowedAttentionWithSinks(q, k, v, sinks, kind.window)
                                 : causalAttentionWithSinks(q, k, v, sinks);
    return linear(mixed.transpose(1, 2).flatten(2), parameters[block.output]);
}

at::Tensor TrainingForward::experts(const TrainingParameters& parameters, std::size_t layer,
                                    const at::Tensor& x, TrainingOutput& output) const
{
    const BlockParameters& block = parameters.blocks()[layer];
    const MoEConfig& moe = *m_config.experts;
    // The router stays in float32, as everywhere: a near tie must not flip.
    const at::Tensor probabilities = at::softmax(at::linear(x, parameters[block.router]), -1);
    const auto [chosen, experts] = at::topk(probabilities, moe.numActive);
    const at::Tensor weights = chosen / chosen.sum(-1, true);
    at::Tensor sum = at::zeros_like(x);
    at::Tensor load = output.load.select(0, static_cast<std::int64_t>(layer));
    for (std::size_t e = 0; e < block.experts.size(); ++e) {
        const at::Tensor visits = experts.eq(static_cast<std::int64_t>(e)); // [N, k]
        const at::Tensor rows = visits.any(-1).nonzero().view({-1});
        load[static_cast<std::int64_t>(e)] =
            static_cast<double>(rows.numel()) / static_cast<double>(experts.numel());
        if (rows.numel() == 0)
            continue;
        const at::Tensor weight = (weights * visits).sum(-1, true).index_select(0, rows);
        sum = sum.index_add(0, rows,
                            expert(parameters, block.experts[e], x.index_select(0, rows)) * weight);
    }
    // Switch Transformer's loss: 1 where both the visits and the probabilities are even.
    output.balance = output.balance + (load.clone() * probabilities.mean(0)).sum() *
                                          static_cast<double>(moe.numExperts);
    for (const ExpertParameters& shared : block.shared)
        sum = sum + expert(parameters, shared, x);
    return sum;
}

} // namespace kvscope
