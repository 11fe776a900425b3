#pragma once

#include "engine/lab/latency_report.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvscope {

/// One layer's attention of one new token a sequence over what is cached, measured alone.
struct DecodeKernelRow
{
    std::int64_t window = 0;       ///< 0: a global layer
    std::int64_t cachedTokens = 0; ///< of the context; a windowed layer reads min(that, W)
    std::int64_t batch = 1;
    std::int64_t parts = 1;     ///< of the cache: 1 is plain, a thread takes whole heads
    bool isDecodersWay = false; ///< the decoder splits it into as many
    std::int64_t numRuns = 0;
    std::int64_t numDisturbed = 0;
    double medianSeconds = 0.0; ///< of a call; over the undisturbed runs, over all where none is
    double bestSeconds = 0.0;
    std::uint64_t bytes = 0;   ///< keys and values read
    double floorSeconds = 0.0; ///< those at the measured bandwidth; 0: not measured
    std::string skipReason;    ///< with its numbers; empty: it was run

    bool isDisturbed() const { return numDisturbed == numRuns; }
};

/// How attention over the cache takes part in a decode step. A value.
struct DecodeKernelReport
{
    double bandwidthBytesPerSecond = 0.0; ///< of memory reads, measured in this run; 0: not
    bool isBandwidthDisturbed = false;    ///< measured under other load: floors may be too high
    int threads = 0;
    std::int64_t numHeads = 0;
    std::int64_t numKvHeads = 0;
    std::int64_t headDim = 0;
    std::string cacheDtype;
    std::int64_t numGlobalLayers = 0;
    std::vector<DecodeKernelRow> rows; ///< by layer kind, cached length, batch, parts
    std::vector<DecodeStepRow> steps;  ///< whole decode steps at batch 1, by cached length
    // Slopes per 1,000 cached tokens; nothing below two lengths, or without global layers.
    std::optional<double> stepSecondsPer1000;   ///< of the whole step
    std::optional<double> kernelSecondsPer1000; ///< of all global layers' kernels, the decoder's
                                                ///< way, batch 1
    std::optional<double> floorSecondsPer1000;  ///< of the cache's bytes alone

    /// The kernels' part of what a step grows by; nothing where it does not grow.
    std::optional<double> kernelShareOfGrowth() const
    {
        if (!stepSecondsPer1000 || !kernelSecondsPer1000 || *stepSecondsPer1000 <= 0.0)
            return std::nullopt;
        return *kernelSecondsPer1000 / *stepSecondsPer1000;
    }
};

} // namespace kvscope
