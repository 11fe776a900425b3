#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvscope {

/// Above this share of its threads' time spent waiting for a processor, a run counts as disturbed.
inline constexpr double kDisturbedShare = 0.05;

/// One timed piece of work.
struct TimedRun
{
    double seconds = 0.0;
    double waitShare = 0.0; ///< 0 to 1: of its threads' time, ready to run but not running

    bool isDisturbed() const { return waitShare > kDisturbedShare; }
};

/// Time to first token at one prompt length.
struct FirstTokenRow
{
    std::int64_t tokens = 0;
    std::int64_t chunkTokens = 0; ///< 0: one shot
    std::vector<TimedRun> runs;   ///< none where skipped
    std::string skipReason;       ///< with its numbers; empty: it was run
    double bestSeconds = 0.0;     ///< of the undisturbed runs; of all where none is
    bool isDisturbed = false;     ///< every run was
    double attentionShare = 0.0;  ///< arithmetic: of the prefill's FLOPs
    bool isBeyondTrained = false; ///< more tokens than the trained positions

    bool isSkipped() const { return runs.empty(); }
};

/// Decode steps at one cached length, batch 1.
struct DecodeStepRow
{
    std::int64_t cachedTokens = 0; ///< before the first step
    std::int64_t numSteps = 0;
    std::int64_t numDisturbed = 0;
    double medianSeconds = 0.0; ///< of the undisturbed steps; of all where none is
    double bestSeconds = 0.0;
    std::uint64_t weightBytes = 0; ///< a step reads
    std::uint64_t cacheBytes = 0;  ///< a step reads; a windowed layer min(cached, W) positions
    double floorSeconds = 0.0;     ///< those bytes at the measured bandwidth; 0: not measured

    bool isDisturbed() const { return numDisturbed == numSteps; }
};

/// seconds = denseFlops / densePerSecond + attentionFlops / attentionPerSecond.
struct ThroughputFit
{
    double densePerSecond = 0.0;     ///< FLOPs
    double attentionPerSecond = 0.0; ///< FLOPs
    bool separates = false; ///< false: the runs do not tell them apart, so one stands for both

    double seconds(double denseFlops, double attentionFlops) const
    {
        return denseFlops / densePerSecond + attentionFlops / attentionPerSecond;
    }
};

/// A point of a fitted line.
struct FittedTime
{
    double tokens = 0.0;
    double seconds = 0.0;
};

/// The fit on all lengths but the longest, and what it says of that one.
struct HeldOutFit
{
    std::int64_t chunkTokens = 0; ///< 0: one shot
    std::vector<std::int64_t> fittedTokens;
    bool isDisturbed =
        false; ///< too few lengths were undisturbed, so that disturbed ones are in it
    ThroughputFit throughputs;
    std::int64_t heldOutTokens = 0;
    double measuredSeconds = 0.0;
    double predictedSeconds = 0.0;
    double singlePredictedSeconds = 0.0; ///< by one throughput for both, for comparison
    std::vector<FittedTime> curve;       ///< the fit from 0 to the held-out length, for drawing

    /// Predicted over measured, less 1.
    double error() const { return predictedSeconds / measuredSeconds - 1.0; }
    double singleError() const { return singlePredictedSeconds / measuredSeconds - 1.0; }
    /// Lengths fitted beyond the two constants.
    std::int64_t degreesOfFreedom() const
    {
        return std::max<std::int64_t>(0, static_cast<std::int64_t>(fittedTokens.size()) - 2);
    }
};

struct LatencyReport
{
    double bandwidthBytesPerSecond = 0.0; ///< of memory reads, measured in this run; 0: not
    bool isBandwidthDisturbed = false;    ///< measured under other load: floors may be too high
    int threads = 0;
    std::vector<FirstTokenRow> firstToken; ///< by length, one shot before chunked
    std::vector<DecodeStepRow> decode;     ///< by length
    std::vector<HeldOutFit> fits;          ///< one shot, chunked; where three lengths were run
    /// Slope of the median step per 1,000 cached tokens; nothing below two undisturbed lengths.
    std::optional<double> stepSecondsPer1000;
    std::optional<double> floorSecondsPer1000; ///< the same of the bytes alone
};

} // namespace kvscope
