#pragma once

#include "engine/lab/latency_report.h"

#include <span>

namespace kvscope {

/// y = intercept + slope x, by least squares.
struct LineFit
{
    double intercept = 0.0;
    double slope = 0.0;
    double explained = 0.0; ///< R^2, 0 to 1; 1 where every y is the same

    double at(double x) const { return intercept + slope * x; }
};

/// The growth of a decode step by cached tokens, for one (1.47 ms per thousand in the chapter).
/// Source: long-context chapter, claim four.
/// \throws ArgumentError unless x and y are equally many, at least two, finite, with two different
/// x
LineFit fitLine(std::span<const double> x, std::span<const double> y);

/// One timed prefill and what it computed.
struct PrefillTiming
{
    double denseFlops = 0.0;     ///< 2 N T
    double attentionFlops = 0.0; ///< all layers
    double seconds = 0.0;
};

/// The two throughputs with the smallest sum of squared *relative* errors, so that the longest run
/// does not decide alone. This weighting is the chapter's: its rounded 4K, 8K and 16K times give
/// its 30.0 and 17.8 TFLOP/s and its 6.65 s at 32K. Where the runs do not tell the two apart (all
/// of one length), or only by a throughput below zero, one stands for both.
/// Source: long-context chapter, claim four.
/// \throws ArgumentError for no runs, or FLOPs or seconds that are not positive finite numbers
ThroughputFit fitThroughputs(std::span<const PrefillTiming> runs);

/// One throughput for both kinds of FLOPs (28 TFLOP/s in the chapter, from short prompts).
/// \throws ArgumentError as fitThroughputs
ThroughputFit fitSingleThroughput(std::span<const PrefillTiming> runs);

} // namespace kvscope
