#include "engine/lab/truncation.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/lab/prompt_room.h"
#include "engine/lab/sample_mean.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

void requireCut(const Decoder& decoder, std::int64_t length, const TruncationOptions& options)
{
    if (options.keepTokens < 0 || options.dropTokens < 1 || options.nextTokens < 1)
        throw ArgumentError("a cut keeps 0 tokens or more, drops 1 or more and scores 1 or more");
    constexpr std::int64_t kFewestBehind = 2; // one that stays stale, and the prompt's last
    const std::int64_t needed =
        options.keepTokens + options.dropTokens + options.nextTokens + kFewestBehind;
    if (length < needed)
        throw ArgumentError("the text has " + formatCount(length) + " tokens; keeping " +
                            formatCount(options.keepTokens) + ", dropping " +
                            formatCount(options.dropTokens) + " and scoring " +
                            formatCount(options.nextTokens) + " needs " + formatCount(needed) +
                            " or more");
    requirePositionsRunnable(decoder, length);
}

std::vector<double> differences(const std::vector<double>& a, const std::vector<double>& b)
{
    std::vector<double> result(a.size());
    std::transform(a.begin(), a.end(), b.begin(), result.begin(), std::minus<>());
    return result;
}

/// Fills a cache with ids, no losses. \returns seconds of the chunks, what observers took left out
double fill(Decoder& decoder, MixedKVCache& cache, std::span<const TokenId> ids, ScoreRange range,
            const PositionsObserver& observer, const std::stop_token& stop)
{
    double seconds = 0.0;
    PositionsObserver timing = observer;
    timing.progressed = [&](const PrefillProgress& progress) {
        seconds = progress.secondsElapsed;
        if (observer.progressed)
            observer.progressed(progress);
    };
    range.firstScoredRow = std::ssize(ids);
    scoreAgainst(decoder, cache, ids, range, timing, stop);
    return seconds;
}

} // namespace

std::vector<TokenId> truncateKeepPrefix(std::span<const TokenId> ids, std::int64_t limit,
                                        std::int64_t keep)
{
    if (keep < 0 || keep > limit)
        throw ArgumentError("keeping the first " + std::to_string(keep) + " of at most " +
                            std::to_string(limit) + " tokens is not possible");
    if (std::ssize(ids) <= limit)
        return {ids.begin(), ids.end()};
    std::vector<TokenId> kept(ids.begin(), ids.begin() + keep);
    kept.insert(kept.end(), ids.end() - (limit - keep), ids.end());
    return kept;
}

std::int64_t reusablePrefixLength(std::span<const TokenId> before, std::span<const TokenId> after)
{
    const auto common = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
    return common.first - before.begin();
}

TruncationReport measureTruncation(Decoder& decoder, std::span<const TokenId> ids,
                                   const TruncationOptions& options,
                                   const PositionsObserver& observer, std::stop_token stop)
{
    const c10::InferenceMode inference;
    requireCut(decoder, std::ssize(ids), options);
    const auto numNext = static_cast<std::size_t>(options.nextTokens);
    const auto prompt = ids.first(ids.size() - numNext);
    const auto scored = ids.last(numNext + 1); // the prompt's last token foretells the first
    TruncationReport report;
    report.promptTokens = std::ssize(prompt);
    report.keepTokens = options.keepTokens;
    report.dropTokens = options.dropTokens;
    report.keptTokens = report.promptTokens - options.dropTokens;
    report.nextTokens = options.nextTokens;
    const auto cut = truncateKeepPrefix(prompt, report.keptTokens, options.keepTokens);
    report.reusablePrefix = reusablePrefixLength(prompt, cut);

    ScoreRange range;
    range.chunkTokens = options.chunkTokens;
    range.plannedLength = decoder.rotatesByPlan() ? std::ssize(ids) : 0;
    MixedKVCache whole = decoder.makeCache();
    // Two caches live for a while.
    requirePromptFits(decoder, whole, 2 * std::ssize(ids),
                      options.chunkTokens > 0 ? options.chunkTokens : std::ssize(ids));
    fill(decoder, whole, prompt.first(prompt.size() - 1), range, observer, stop);
    report.cacheReusable = whole.reusablePrefix(report.reusablePrefix);
    MixedKVCache stale =
        staleCache(decoder, whole, options.keepTokens, options.dropTokens, report.staleReason);
    const auto uncutLosses = scoreAgainst(decoder, whole, scored, range, {}, stop);

    // Whoever recomputes keeps what the cut left valid, as far as this cache gives it back.
    MixedKVCache anew = std::move(whole);
    // Keys that follow the length are of the longer prompt: then nothing did.
    const bool hasOwnKeys = !report.staleReason.empty();
    const std::int64_t valid =
        hasOwnKeys ? 0 : std::min<std::int64_t>(report.reusablePrefix, std::ssize(cut) - 1);
    const std::int64_t kept = anew.truncate(valid);
    report.recomputedTokens = std::ssize(cut) - kept;
    const auto rest = std::span(cut).subspan(static_cast<std::size_t>(kept));
    report.recomputeSeconds =
        fill(decoder, anew, rest.first(rest.size() - 1), range, observer, stop);
    const auto anewLosses = scoreAgainst(decoder, anew, scored, range, {}, stop);
    report.uncut = sampleMean(uncutLosses);
    report.recomputed = sampleMean(anewLosses);
    report.cutCost = sampleMean(differences(anewLosses, uncutLosses));
    if (!report.staleReason.empty())
        return report;
    const auto staleLosses = scoreAgainst(decoder, stale, scored, range, {}, stop);
    report.stale = sampleMean(staleLosses);
    report.staleCost = sampleMean(differences(staleLosses, anewLosses));
    return report;
}

} // namespace kvscope
