#pragma once

#include "engine/checkpoint/model_config.h"
#include "engine/lab/latency_report.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace kvscope {

/// The fit on all of the rows' lengths but the longest, held against that one; nothing with fewer
/// than three lengths. Skipped rows, and rows of another chunk size, do not count.
/// Source: long-context chapter, claim four.
std::optional<HeldOutFit> heldOutFit(const ModelConfig& config,
                                     const std::vector<FirstTokenRow>& rows,
                                     std::int64_t chunkTokens);

} // namespace kvscope
