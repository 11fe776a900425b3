#pragma once

#include "engine/checkpoint/model_config.h"
#include "engine/lab/latency_report.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kvscope {

/// One measured prefill.
struct PrefillPoint
{
    PrefillWork work;
    double seconds = 0.0;
};

/// N counts what a token multiplies with: the active parameters with a tied head, without an
/// embedding that is only looked up. Source: long-context chapter, claim four (prefill_flops).
PrefillWork prefillWork(const ModelConfig& config, std::int64_t tokens);

/// The two throughputs with the smallest sum of squared relative errors, so that the longest run
/// does not decide alone. One stands for both where the points do not tell them apart, or only by
/// one below zero. Source: long-context chapter, claim four: 4K, 8K and 16K give 30.0 and 17.8
/// TFLOP/s and 6.65 s at 32K. \pre points not empty, with positive seconds and work
TwoThroughputs fitTwoThroughputs(std::span<const PrefillPoint> points);
/// One throughput for all FLOPs.
TwoThroughputs fitOneThroughput(std::span<const PrefillPoint> points);

/// The fit on all of the rows' lengths but the longest, held against that one; nothing with fewer
/// than three lengths. Skipped rows, and rows of another chunk size, do not count.
std::optional<HeldOutFit> heldOutFit(const ModelConfig& config,
                                     const std::vector<FirstTokenRow>& rows,
                                     std::int64_t chunkTokens);

/// Slope of y over x by least squares; 0 with fewer than two different x.
double slopeOf(std::span<const double> x, std::span<const double> y);

} // namespace kvscope
