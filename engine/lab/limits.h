#pragma once

#include "engine/lab/limits_report.h"
#include "engine/lab/weight_bytes.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace kvscope {

/// What a report is to be about.
struct LimitsRequest
{
    WeightBytes weights;
    CacheNumbers cache;
    std::int64_t logitElementBytes = 2; ///< of logits and scores
    std::vector<std::int64_t> lengths;  ///< tokens
    std::optional<std::uint64_t> budgetBytes;
    bool countsWeights = true; ///< in the budget
    MachineSpeed machine;
};

/// Doublings from 1,024 to the advertised length, and that itself; to 131,072 where none is stated.
std::vector<std::int64_t> usualLengths(const ModelConfig& config);

/// Every figure of the limits, one row a length, from memory_costs.h and compute_costs.h.
/// \throws ArgumentError for a length below 1, one whose bytes pass 2^63, or a machine without
///         speed
LimitsReport limitsReport(const ModelConfig& config, const LimitsRequest& request);

} // namespace kvscope
