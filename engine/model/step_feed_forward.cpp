#include "engine/model/step_feed_forward.h"

#include "engine/kernels/elementwise/elementwise_paths.h"

#include <algorithm>
#include <cmath>

namespace kvscope {

StepLinear::StepLinear(const LinearWeights& weights, Precision precision, bool isStreamed)
    : weight(weights.weight, precision, isStreamed)
    , bias(weights.bias.defined() ? weights.bias.const_data_ptr<float>() : nullptr)
{
}

void StepLinear::operator()(const Team& team, int member, InputRow& x, float* y) const
{
    const std::int64_t first = team.first(weight.rows(), member);
    const std::int64_t end = team.end(weight.rows(), member);
    weight.multiply(x, y, first, end);
    if (bias != nullptr)
        for (std::int64_t row = first; row < end; ++row)
            y[row] += bias[row];
}

StepFeedForward::StepFeedForward(const LayerWeights& weights, const LayerConfig& layer,
                                 const ModelConfig& config, const StepSettings& settings)
    : m_activate(gatedRow(config.activation))
{
    if (!layer.hasExperts) {
        m_experts.push_back(expert(weights.dense, settings));
        return;
    }
    const MoEWeights& moe = weights.experts;
    m_numRouted = moe.experts.size();
    m_numActive = static_cast<std::size_t>(config.experts->numActive);
    m_normalisesWeights = config.experts->normalisesWeights;
    m_router = StepLinear(moe.router, settings.precision, settings.streamsWeights());
    for (const FeedForwardWeights& routed : moe.experts)
        m_experts.push_back(expert(routed, settings));
    for (const FeedForwardWeights& shared : moe.shared)
        m_experts.push_back(expert(shared, settings));
    if (moe.sharedGate.rows > 0)
        m_sharedGate.weight =
            WeightRows(moe.sharedGate, settings.precision, settings.streamsWeights());
}

StepFeedForward::Expert StepFeedForward::expert(const FeedForwardWeights& weights,
                                                const StepSettings& settings)
{
    const auto linear = [&](const LinearWeights& each) {
        return StepLinear(each, settings.precision, settings.streamsWeights());
    };
    return {linear(weights.gate), linear(weights.up), linear(weights.down)};
}

void StepFeedForward::reserve(StepHidden& hidden) const
{
    for (const Expert& each : m_experts)
        hidden.widest = std::max(hidden.widest, each.up.weight.rows());
    hidden.visits = std::max(hidden.visits, static_cast<std::int64_t>(numVisits()));
    hidden.up.resize(static_cast<std::size_t>(hidden.visits * hidden.widest));
    hidden.gate.resize(hidden.up.size());
    hidden.router.resize(std::max(hidden.router.size(), m_numRouted + 1));
}

void StepFeedForward::reserve(Own& own) const
{
    own.probabilities.reserve(m_numRouted);
    own.visits.reserve(m_experts.size());
    const WeightRows& like = m_experts.front().down.weight;
    own.part.resize(static_cast<std::size_t>(like.rows()));
    for (const Expert& each : m_experts)
        own.input.reserve(each.down.weight.cols());
}

void StepFeedForward::askForFirst(const Team& team, int member) const
{
    if (m_numRouted == 0)
        m_experts.front().gate.askFor(team, member);
}

void StepFeedForward::choose(const std::vector<float>& router, Own& own) const
{
    own.visits.clear();
    const auto logits = router.begin();
    const auto endLogits = logits + static_cast<std::ptrdiff_t>(m_numRouted);
    own.probabilities.assign(logits, endLogits);
    const float largest = m_numRouted > 0 ? *std::max_element(logits, endLogits) : 0.0F;
    float sum = 0.0F;
    for (float& each : own.probabilities)
        sum += each = std::exp(each - largest);
    for (std::size_t e = 0; e < m_numRouted; ++e)
        own.visits.emplace_back(e, own.probabilities[e] / sum);
    std::partial_sort(
        own.visits.begin(), own.visits.begin() + static_cast<std::ptrdiff_t>(m_numActive),
        own.visits.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    own.visits.resize(m_numActive);
    float chosen = 0.0F;
    for (const auto& visit : own.visits)
        chosen += visit.second;
    if (m_normalisesWeights)
        for (auto& visit : own.visits)
            visit.second /= chosen;
    std::sort(own.visits.begin(), own.visits.end());
    const float shared =
        m_sharedGate.weight.rows() > 0 ? 1.0F / (1.0F + std::exp(-router[m_numRouted])) : 1.0F;
    for (std::size_t e = m_numRouted; e < m_experts.size(); ++e)
        own.visits.emplace_back(e, shared);
}

void StepFeedForward::expand(Team& team, int member, InputRow& x, StepHidden& hidden,
                             Own& own) const
{
    if (m_numRouted > 0) {
        m_router(team, member, x, hidden.router.data());
        if (m_sharedGate.weight.rows() > 0)
            m_sharedGate(team, member, x, hidden.router.data() + m_numRouted);
        team.meet();
    }
    choose(hidden.router, own);
    float* gate = hidden.gate.data();
    float* up = hidden.up.data();
    for (const auto& visit : own.visits) {
        const Expert& each = m_experts[visit.first];
        each.gate(team, member, x, gate);
        each.up(team, member, x, up);
        const std::int64_t first = team.first(each.up.weight.rows(), member);
        const std::int64_t end = team.end(each.up.weight.rows(), member);
        m_activate(gate + first, up + first, up + first, end - first);
        gate += hidden.widest;
        up += hidden.widest;
    }
    m_experts[own.visits.front().first].down.askFor(team, member);
}

void StepFeedForward::contract(const Team& team, int member, const StepHidden& hidden, Own& own,
                               float* y) const
{
    const StepLinear& like = m_experts.front().down;
    const std::int64_t first = team.first(like.weight.rows(), member);
    const std::int64_t end = team.end(like.weight.rows(), member);
    const bool isOne = own.visits.size() == 1 && own.visits.front().second == 1.0F;
    if (!isOne)
        std::fill(y + first, y + end, 0.0F);
    const float* up = hidden.up.data();
    for (const auto& [number, weight] : own.visits) {
        const Expert& each = m_experts[number];
        own.input.set(up, each.up.weight.rows());
        up += hidden.widest;
        if (isOne) {
            each.down(team, member, own.input, y);
            continue;
        }
        each.down(team, member, own.input, own.part.data());
        for (std::int64_t row = first; row < end; ++row)
            y[row] += own.part[static_cast<std::size_t>(row)] * weight;
    }
}

} // namespace kvscope
