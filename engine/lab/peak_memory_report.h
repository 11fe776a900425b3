#pragma once

#include "engine/base/cache_numbers.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvscope {

/// How a prompt is prefilled.
enum class PrefillWay {
    Chunked,   ///< in chunks, the last position's logits alone
    OneShot,   ///< the whole prompt at once, the last position's logits alone
    AllLogits, ///< in chunks, every position's logits kept
    Scores,    ///< the whole prompt at once by plain operators, which materialise all scores
};
inline constexpr std::size_t kNumPrefillWays = 4;
/// As records and JSON spell them, in their order.
inline constexpr std::array<const char*, kNumPrefillWays> kPrefillWayNames{"chunked", "one_shot",
                                                                           "all_logits", "scores"};

/// The peak of one prefill.
struct PeakRow
{
    PrefillWay way = PrefillWay::Chunked;
    std::int64_t tokens = 0;
    std::int64_t chunkTokens = 0;     ///< 0: one shot
    std::uint64_t cacheBytes = 0;     ///< arithmetic: keys and values of all tokens
    std::uint64_t predictedBytes = 0; ///< arithmetic: cache and what the way holds beside it
    std::uint64_t measuredBytes = 0;  ///< highest resident memory above that before
    double seconds = 0.0;
    std::string skipReason; ///< with its numbers; empty: it was run

    bool isSkipped() const { return !skipReason.empty(); }
    /// What was measured beyond the cache; 0 where less.
    std::uint64_t besideCacheBytes() const
    {
        return measuredBytes > cacheBytes ? measuredBytes - cacheBytes : 0;
    }
};

/// How a way's memory beside the cache grows with the prompt.
struct PeakGrowth
{
    PrefillWay way = PrefillWay::Chunked;
    double bytesPerToken = 0.0;
    double explained = 0.0; ///< R^2 of the line
};

/// Peaks of prefills, each measured by itself. A value.
struct PeakReport
{
    std::uint64_t freeBytes = 0;     ///< host memory before the first run; 0: not known
    std::uint64_t residentBytes = 0; ///< of the process before the first run, weights included
    std::uint64_t weightBytes = 0;
    CacheNumbers cacheNumbers;
    std::int64_t chunkTokens = 0;
    std::vector<PeakRow> rows;      ///< by length, then way
    std::vector<PeakGrowth> growth; ///< of ways with two lengths or more
};

} // namespace kvscope
