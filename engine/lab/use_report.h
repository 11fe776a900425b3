#pragma once

#include "engine/lab/sample_mean_report.h"

#include <cmath>
#include <cstdint>
#include <vector>

namespace kvscope {

/// One segment's second half, scored twice.
struct UseSegment
{
    std::int64_t segment = 0;
    std::int64_t firstTarget = 0; ///< absolute position of the first scored token
    std::int64_t numTargets = 0;
    SampleMean whole; ///< nll given the whole text so far, nats
    SampleMean alone; ///< nll given the segment alone, nats
    SampleMean gain;  ///< alone - whole, paired by token: above 0 where earlier text helps
    double largestDifference = 0.0; ///< the largest |alone - whole| of one token
};

struct UseReport
{
    std::int64_t tokens = 0; ///< used: a whole number of segments
    std::int64_t segmentTokens = 0;
    std::int64_t chunkTokens = 0;
    std::vector<UseSegment> segments;
    SampleMean gain; ///< over the segments but the first: see pooledGain()
    double smallestSegmentGain = 0.0;
    double largestSegmentGain = 0.0;
    double seconds = 0.0;

    /// The check: in the first segment both are the same computation.
    bool firstSegmentAgrees() const
    {
        return !segments.empty() && segments.front().largestDifference == 0.0;
    }
    /// How many times lower the perplexity is with the whole text.
    double perplexityRatio() const { return std::exp(gain.mean); }
    /// Claim five of the card, as far as loss shows it.
    bool usesContext() const
    {
        return firstSegmentAgrees() && gain.hasInterval() && gain.low > 0.0;
    }
};

} // namespace kvscope
