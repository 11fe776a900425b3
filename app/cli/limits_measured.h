#pragma once

#include "app/cli/lab_options.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace kvscope {

/// What `limits --measure` takes beside the lengths.
struct MeasuredLimitsOptions
{
    RecordOptions record;
    std::vector<std::int64_t> lengths;
    std::int64_t chunkTokens = 512;
    std::int64_t mostScoresTokens = 2048;
};

void addMeasuredLimitsOptions(CLI::App& command, MeasuredLimitsOptions& options);

/// Measures prefills' peak memory beside the predicted one, and prints or gives it as JSON.
/// \throws ArgumentError for a shape without weights
void measureLimits(const CommonOptions& common, const MeasuredLimitsOptions& options,
                   const std::shared_ptr<const Checkpoint>& checkpoint, const CliContext& context);

} // namespace kvscope
