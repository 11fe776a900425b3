#include "engine/lab/effective_length.h"

#include "engine/base/errors.h"
#include "engine/lab/statistics.h"

#include <algorithm>
#include <string>

namespace kvscope {
namespace {

std::vector<LengthScore> sortedByLength(std::span<const LengthScore> scores)
{
    std::vector<LengthScore> sorted(scores.begin(), scores.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const LengthScore& a, const LengthScore& b) { return a.tokens < b.tokens; });
    std::int64_t previous = 0;
    for (const LengthScore& score : sorted) {
        if (score.tokens < 1)
            throw ArgumentError("A measured length must be at least 1 token, got " +
                                std::to_string(score.tokens) + ".");
        if (score.tokens == previous)
            throw ArgumentError("The length " + std::to_string(score.tokens) +
                                " comes twice; its trials belong together.");
        previous = score.tokens;
    }
    return sorted;
}

/// The last length before the first for which `isGood` is false.
template <typename IsGood>
std::int64_t lastGood(const std::vector<LengthVerdict>& lengths, IsGood isGood)
{
    const auto end = std::find_if_not(lengths.begin(), lengths.end(), isGood);
    return end == lengths.begin() ? 0 : std::prev(end)->tokens;
}

} // namespace

double relativePassRate(const Proportion& shortPrompt)
{
    wilsonInterval(shortPrompt); // refuses what cannot be
    return kRelativePassShare * shortPrompt.rate();
}

PassVerdict passVerdict(const Proportion& score, double threshold)
{
    const Interval interval = wilsonInterval(score);
    if (!(threshold > 0.0))
        return PassVerdict::Undecided; // nothing could fail, so that nothing passes either
    if (interval.low >= threshold)
        return PassVerdict::Passes;
    return interval.high < threshold ? PassVerdict::Fails : PassVerdict::Undecided;
}

EffectiveLength effectiveLength(std::span<const LengthScore> scores, double threshold)
{
    EffectiveLength result;
    result.threshold = threshold;
    for (const LengthScore& score : sortedByLength(scores))
        result.lengths.push_back({.tokens = score.tokens,
                                  .score = score.score,
                                  .interval = wilsonInterval(score.score),
                                  .verdict = passVerdict(score.score, threshold)});
    const auto& lengths = result.lengths;
    result.tokens = lastGood(
        lengths, [](const LengthVerdict& length) { return length.verdict == PassVerdict::Passes; });
    result.mostTokens = lastGood(
        lengths, [](const LengthVerdict& length) { return length.verdict != PassVerdict::Fails; });
    result.pointTokens = lastGood(lengths, [&result](const LengthVerdict& length) {
        return result.hasLine() && length.score.trials > 0 &&
               length.score.rate() >= result.threshold;
    });
    result.isCensored =
        result.hasLine() && !lengths.empty() && result.mostTokens == lengths.back().tokens;
    return result;
}

} // namespace kvscope
