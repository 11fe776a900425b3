#pragma once

#include "engine/lab/sweep_report.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvscope {

/// What a made-up sweep is like. The defaults are those of the drawn target: six lengths, of which
/// one lies beyond the trained length and is at work, and one cannot fit.
struct FakeSweepShape
{
    std::vector<std::int64_t> lengths{1024, 2048, 4096, 7680, 16384, 131072};
    std::vector<double> depths{0, 25, 50, 75, 100};
    std::int64_t trials = 12; ///< a cell
    bool hasRunning = true;   ///< the last length that fits is at work, its later depths wait
    bool hasSkipped = true;   ///< the last length cannot fit
    bool isLeaking = false;
};

/// A report whose sums, intervals and verdicts agree with its trials.
SweepReport fakeSweep(const FakeSweepShape& shape = {});

/// The trial of a cell by its place in the cell, as SweepCell::trials has it.
const SweepTrial& trialOf(const SweepReport& report, const SweepCell& cell, std::size_t place);

} // namespace kvscope
