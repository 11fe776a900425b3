#pragma once

#include "engine/lab/sample_mean_report.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace kvscope {

/// A model behaves where its last bin is within this of the mean over the first half, in nats.
inline constexpr double kBehavesNats = 0.2;
/// Fewer positions than this in the last bin say nothing.
inline constexpr std::int64_t kFewestBehavesPositions = 32;

/// nll of some tokens in a row, as it becomes known. nll[i] is that of token firstPosition + i + 1,
/// given the tokens up to position firstPosition + i.
struct ScoredPositions
{
    std::int64_t firstPosition = 0;
    std::vector<double> nll; ///< nats
    double seconds = 0.0;    ///< that the chunk took, its last token included; 0: not known
};

/// Positions first to end - 1 together.
struct PositionBin
{
    std::int64_t first = 0;
    std::int64_t end = 0;
    SampleMean nll;               ///< nats per token
    bool isBeyondTrained = false; ///< all of it, since no bin straddles the trained length

    double perplexity() const { return std::exp(nll.mean); }
};

/// One rotary scheme, or cache, over one text.
struct PositionsSeries
{
    std::string rotary;                 ///< as rotaryText() says it
    std::string cacheDtype;             ///< "int8", where caches are compared; else empty
    std::int64_t trainedPositions = 0;  ///< 0: the file does not say
    std::int64_t extendedPositions = 0; ///< what the scheme aims at
    std::int64_t window = 0;            ///< of the windowed layers, the longest; 0: none has one
    bool isWhole = false; ///< keys were rotated for the whole length, not for the length so far
    std::int64_t chunkTokens = 0;
    double seconds = 0.0;    ///< 0: not known, being taken from a record that does not say
    std::vector<double> nll; ///< by position, one fewer than tokens
    std::vector<PositionBin> bins;
    SampleMean firstHalf; ///< over the positions of the first half
    SampleMean lastBin;

    /// What tells it from the other one: "yarn x4", "plain, int8 cache".
    std::string name() const
    {
        return cacheDtype.empty() ? rotary : rotary + ", " + cacheDtype + " cache";
    }
    /// Nats by which the last bin lies above the first half.
    double rise() const { return lastBin.mean - firstHalf.mean; }
    /// Claim two of the card.
    bool behaves() const { return rise() <= kBehavesNats; }
    /// Whether the losses are enough to say so: bins beside the last one, and the last one's
    /// interval on one side of the line.
    bool isDecided() const
    {
        const double line = firstHalf.mean + kBehavesNats;
        return bins.size() > 1 && lastBin.count >= kFewestBehavesPositions &&
               (lastBin.high <= line || lastBin.low > line);
    }
};

/// Second scheme less the first one, position by position.
struct PositionsDifference
{
    std::int64_t first = 0;
    std::int64_t end = 0;
    SampleMean nll; ///< nats; its interval is of the paired differences
};

struct PositionsReport
{
    std::int64_t tokens = 0;
    std::vector<PositionsSeries> series;          ///< one a scheme
    std::vector<PositionsDifference> differences; ///< where there are two schemes
};

} // namespace kvscope
