#include "engine/session/timed_prefills.h"

#include "engine/lab/compute_costs.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

/// Enough for a fit over lengths; older ones tell of another load.
constexpr std::size_t kNewest = 24;

} // namespace

void TimedPrefills::add(const ModelConfig& config, std::int64_t tokens, double seconds)
{
    if (tokens < 1 || !std::isfinite(seconds) || seconds <= 0.0)
        return;
    const PrefillFlops flops = prefillFlops(config, tokens);
    m_timings.push_back({flops.dense, flops.attention(), seconds});
    if (m_timings.size() > kNewest)
        m_timings.erase(m_timings.begin());
}

std::optional<double> TimedPrefills::seconds(const ModelConfig& config, std::int64_t tokens) const
{
    if (m_timings.empty() || tokens < 1)
        return std::nullopt;
    const PrefillFlops flops = prefillFlops(config, tokens);
    return fitThroughputs(m_timings).seconds(flops.dense, flops.attention());
}

double TimedPrefills::secondsPerFlop() const
{
    return m_timings.empty() ? 0.0 : 1.0 / fitSingleThroughput(m_timings).densePerSecond;
}

double TimedPrefills::flopsPerSecond() const
{
    double most = 0.0;
    for (const PrefillTiming& timing : m_timings)
        most = std::max(most, (timing.denseFlops + timing.attentionFlops) / timing.seconds);
    return most;
}

std::string TimedPrefills::basis() const
{
    return m_timings.empty()       ? "nothing was timed on this model yet"
           : m_timings.size() == 1 ? "by one timed prefill"
                                   : "by " + std::to_string(m_timings.size()) + " timed prefills";
}

} // namespace kvscope
