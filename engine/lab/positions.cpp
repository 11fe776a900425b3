#include "engine/lab/positions.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/generate/prefill.h"
#include "engine/lab/prompt_room.h"
#include "engine/model/rotary_override.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>

namespace kvscope {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace

void requirePositionsRunnable(const Decoder& decoder, std::int64_t length)
{
    if (length < 2)
        throw ArgumentError("losses by position need two tokens or more, the text has " +
                            std::to_string(length));
    const ModelConfig& config = decoder.config();
    if (config.hasLearnedPositions && length > config.trainedPositions)
        throw ArgumentError(config.architecture + " has learned " +
                            formatCount(config.trainedPositions) + " positions, the text has " +
                            formatCount(length) + " tokens");
}

std::vector<double> scoreAgainst(Decoder& decoder, MixedKVCache& cache,
                                 std::span<const TokenId> ids, const ScoreRange& range,
                                 const PositionsObserver& observer, const std::stop_token& stop)
{
    const c10::InferenceMode inference;
    const auto length = std::ssize(ids);
    const std::int64_t chunk = range.chunkTokens > 0 ? range.chunkTokens : length;
    ForwardOptions forward;
    forward.stop = stop;
    forward.plannedLength = range.plannedLength;
    cache.reserve(cache.seqLen() + length); // a later part follows what is cached
    PrefillClock clock(0, length);
    std::vector<double> nll;
    for (std::int64_t first = 0; first < length; first += chunk) {
        if (stop.stop_requested())
            throw Stopped{};
        const auto start = Clock::now();
        const std::int64_t count = std::min(chunk, length - first);
        const at::Tensor hidden =
            decoder.forwardHidden(idsTensor(ids.data() + first, count), &cache, forward)[0];
        // The last token has no target.
        const std::int64_t begin = std::clamp(range.firstScoredRow - first, std::int64_t{0}, count);
        const std::int64_t end = std::min(count, length - 1 - first);
        ScoredPositions part{first + begin, {}, 0.0};
        if (begin < end)
            part.nll = scoredRows(decoder, hidden.narrow(0, begin, end - begin),
                                  ids.data() + first + begin + 1);
        part.seconds = secondsSince(start); // before observers, which may wait
        clock.add(count, part.seconds);
        nll.insert(nll.end(), part.nll.begin(), part.nll.end());
        if (observer.scored && !part.nll.empty())
            observer.scored(part);
        if (observer.stepped)
            observer.stepped(cache);
        if (observer.progressed)
            observer.progressed(
                {0, first + count, length, clock.secondsElapsed(), clock.secondsLeft()});
    }
    return nll;
}

PositionsSeries measurePositions(Decoder& decoder, std::span<const TokenId> ids,
                                 const PositionsOptions& options, const PositionsObserver& observer,
                                 std::stop_token stop)
{
    const auto length = std::ssize(ids);
    requirePositionsRunnable(decoder, length);
    MixedKVCache cache = decoder.makeCache();
    requirePromptFits(decoder, cache, length, options.chunkTokens);
    ScoreRange range;
    range.chunkTokens = options.chunkTokens;
    // longrope chooses between its lists by how long the text is to become, whatever is asked.
    range.plannedLength = options.isWhole || decoder.rotatesByPlan() ? length : 0;
    const auto start = Clock::now();
    std::vector<double> nll = scoreAgainst(decoder, cache, ids, range, observer, stop);
    PositionsSeries series = positionsSeries(decoder.config(), std::move(nll), options);
    series.seconds = secondsSince(start);
    return series;
}

} // namespace kvscope
