#include "engine/lab/use.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/generate/prefill.h"
#include "engine/lab/positions.h"
#include "engine/lab/prompt_room.h"
#include "engine/lab/sample_mean.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace kvscope {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One run over a text's segments, with its progress over both passes.
class UseRun
{
public:
    UseRun(Decoder& decoder, std::span<const TokenId> ids, const UseOptions& options,
           const UseObserver& observer, std::stop_token stop)
        : m_decoder(decoder)
        , m_ids(ids)
        , m_observer(observer)
        , m_stop(std::move(stop))
        , m_segmentTokens(std::ssize(ids) / options.numSegments)
    {
        m_range.chunkTokens = options.chunkTokens;
        m_range.firstScoredRow = m_segmentTokens / 2 - 1; // the row that foretells the second half
        if (decoder.rotatesByPlan())
            m_range.plannedLength = std::ssize(ids);
    }

    /// Losses of the segment's second half, behind what the cache holds.
    std::vector<double> losses(MixedKVCache& cache, std::int64_t segment)
    {
        PositionsObserver observer;
        observer.progressed = [this](const PrefillProgress& part) { tell(part); };
        observer.stepped = m_observer.stepped;
        const auto segmentIds = m_ids.subspan(static_cast<std::size_t>(segment * m_segmentTokens),
                                              static_cast<std::size_t>(m_segmentTokens));
        auto nll = scoreAgainst(m_decoder, cache, segmentIds, m_range, observer, m_stop);
        m_done += m_segmentTokens;
        return nll;
    }
    std::int64_t segmentTokens() const { return m_segmentTokens; }
    double seconds() const { return secondsSince(m_start); }

private:
    void tell(const PrefillProgress& part)
    {
        if (!m_observer.progressed)
            return;
        const std::int64_t done = m_done + part.doneTokens;
        const std::int64_t total = 2 * std::ssize(m_ids);
        // Segments alternate between both passes; a later one attends to more, so this is low.
        const double left =
            seconds() * static_cast<double>(total - done) / static_cast<double>(done);
        m_observer.progressed({0, done, total, seconds(), left});
    }

    Decoder& m_decoder;
    std::span<const TokenId> m_ids;
    const UseObserver& m_observer;
    std::stop_token m_stop;
    std::int64_t m_segmentTokens;
    ScoreRange m_range;
    std::int64_t m_done = 0;
    Clock::time_point m_start = Clock::now();
};

void sumUp(UseReport& report)
{
    report.gain = pooledGain(report.segments);
    const auto lessGain = [](const UseSegment& a, const UseSegment& b) {
        return a.gain.mean < b.gain.mean;
    };
    const auto [least, most] =
        std::minmax_element(report.segments.begin() + 1, report.segments.end(), lessGain);
    report.smallestSegmentGain = least->gain.mean;
    report.largestSegmentGain = most->gain.mean;
}

} // namespace

void requireUseRunnable(const Decoder& decoder, std::int64_t length, const UseOptions& options)
{
    if (options.numSegments < 2)
        throw ArgumentError("use needs two segments or more to compare, got " +
                            std::to_string(options.numSegments));
    constexpr std::int64_t kFewestTokens = 4; // a half to read and a half to score
    if (length / options.numSegments < kFewestTokens)
        throw ArgumentError(formatCount(length) + " tokens in " + formatCount(options.numSegments) +
                            " segments leave fewer than " + std::to_string(kFewestTokens) +
                            " tokens a segment");
    const ModelConfig& config = decoder.config();
    if (config.hasLearnedPositions && length > config.trainedPositions)
        throw ArgumentError(config.architecture + " has learned " +
                            formatCount(config.trainedPositions) + " positions, the text has " +
                            formatCount(length) + " tokens");
}

UseSegment useSegment(std::int64_t segment, std::int64_t firstTarget,
                      const std::vector<double>& whole, const std::vector<double>& alone)
{
    UseSegment result;
    result.segment = segment;
    result.firstTarget = firstTarget;
    result.numTargets = std::ssize(whole);
    std::vector<double> gains(whole.size());
    for (std::size_t i = 0; i < gains.size(); ++i) {
        gains[i] = alone[i] - whole[i];
        result.largestDifference = std::max(result.largestDifference, std::abs(gains[i]));
    }
    result.whole = sampleMean(whole);
    result.alone = sampleMean(alone);
    result.gain = sampleMean(gains);
    return result;
}

SampleMean pooledGain(const std::vector<UseSegment>& segments)
{
    std::vector<double> gains;
    for (std::size_t i = 1; i < segments.size(); ++i)
        gains.push_back(segments[i].gain.mean);
    return sampleMean(gains);
}

UseReport measureUse(Decoder& decoder, std::span<const TokenId> ids, const UseOptions& options,
                     const UseObserver& observer, std::stop_token stop)
{
    requireUseRunnable(decoder, std::ssize(ids), options);
    UseReport report;
    report.segmentTokens = std::ssize(ids) / options.numSegments;
    report.tokens = report.segmentTokens * options.numSegments;
    report.chunkTokens = options.chunkTokens;
    MixedKVCache cache = decoder.makeCache();
    // Without a chunk a segment is run in one, never the whole text.
    requirePromptFits(decoder, cache, report.tokens,
                      options.chunkTokens > 0 ? options.chunkTokens : report.segmentTokens);
    UseRun run(decoder, ids.first(static_cast<std::size_t>(report.tokens)), options, observer,
               std::move(stop));
    for (std::int64_t segment = 0; segment < options.numSegments; ++segment) {
        const std::vector<double> whole = run.losses(cache, segment);
        MixedKVCache own = decoder.makeCache();
        const std::vector<double> alone = run.losses(own, segment);
        const std::int64_t firstTarget = segment * report.segmentTokens + report.segmentTokens / 2;
        report.segments.push_back(useSegment(segment, firstTarget, whole, alone));
        if (observer.measured)
            observer.measured(report.segments.back());
    }
    sumUp(report);
    report.seconds = run.seconds();
    return report;
}

} // namespace kvscope
