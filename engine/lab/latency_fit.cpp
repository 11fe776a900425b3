#include "engine/lab/latency_fit.h"

#include "engine/lab/compute_costs.h"
#include "engine/lab/fits.h"

#include <algorithm>
#include <span>

namespace kvscope {
namespace {

PrefillTiming timingOf(const ModelConfig& config, const FirstTokenRow& row)
{
    const PrefillFlops flops = prefillFlops(config, row.tokens);
    return {flops.dense, flops.attention(), row.bestSeconds};
}

/// Shortest first.
std::vector<FirstTokenRow> rowsRun(const std::vector<FirstTokenRow>& rows, std::int64_t chunkTokens)
{
    std::vector<FirstTokenRow> used;
    for (const FirstTokenRow& row : rows)
        if (!row.isSkipped() && row.chunkTokens == chunkTokens)
            used.push_back(row);
    std::sort(used.begin(), used.end(),
              [](const auto& a, const auto& b) { return a.tokens < b.tokens; });
    return used;
}

} // namespace

std::optional<HeldOutFit> heldOutFit(const ModelConfig& config,
                                     const std::vector<FirstTokenRow>& rows,
                                     std::int64_t chunkTokens)
{
    std::vector<FirstTokenRow> used = rowsRun(rows, chunkTokens);
    constexpr std::size_t kFewestLengths = 3; // two constants, and one to hold out
    if (used.size() < kFewestLengths)
        return std::nullopt;
    const auto numCalm =
        std::count_if(used.begin(), used.end(), [](const auto& row) { return !row.isDisturbed; });
    if (static_cast<std::size_t>(numCalm) >= kFewestLengths)
        std::erase_if(used, [](const auto& row) { return row.isDisturbed; });
    const FirstTokenRow& heldOut = used.back();
    HeldOutFit fit;
    fit.chunkTokens = chunkTokens;
    fit.isDisturbed = heldOut.isDisturbed;
    std::vector<PrefillTiming> timings;
    for (const FirstTokenRow& row : std::span(used).first(used.size() - 1)) {
        timings.push_back(timingOf(config, row));
        fit.fittedTokens.push_back(row.tokens);
        fit.isDisturbed = fit.isDisturbed || row.isDisturbed;
    }
    const PrefillTiming longest = timingOf(config, heldOut);
    const auto predicted = [&longest](const ThroughputFit& throughputs) {
        return throughputs.seconds(longest.denseFlops, longest.attentionFlops);
    };
    fit.throughputs = fitThroughputs(timings);
    fit.heldOutTokens = heldOut.tokens;
    fit.measuredSeconds = heldOut.bestSeconds;
    fit.predictedSeconds = predicted(fit.throughputs);
    fit.singlePredictedSeconds = predicted(fitSingleThroughput(timings));
    return fit;
}

} // namespace kvscope
