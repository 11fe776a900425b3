#pragma once

#include "engine/lab/sweep_plan.h"
#include "engine/lab/sweep_report.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace kvscope {

/// The proportion whose rate is the mean of the parts' rates and whose trials are those of a simple
/// sample as certain as that mean, rounded: 1 / mean of (1 / n), times the parts. The sum where
/// every part has as many trials as any other; parts without trials are left out. So cells that
/// were given further trials weigh no more than others.
/// Source: Kish 1965 (effective sample size of a weighted mean).
Proportion pooledEqually(std::span<const Proportion> parts);

/// Which items were answered without being told, and what was done about them, as the end of
/// SweepReport::conditions: "; answered without being told: ferry (replaced)". Empty where none
/// was.
std::string replacedText(const SweepPlan& plan, std::span<const SweepTrial> trials);

/// Fills in cells, rows, columns, verdicts and items of a report from its `trials`, `depths` and
/// columns (lengths, reasons to skip them, and whether they are beyond the trained one), for which
/// there must be one entry each.
/// \param running  the spot at work, if any
void fillScores(SweepReport& report, const SweepPlan& plan,
                const std::optional<SweepSpot>& running);

/// What a prompt costs and what it was estimated from.
struct SweepCosts
{
    std::function<double(std::int64_t tokens)> prefillFlops;
    std::function<double(const CellKey&)> sharedPart; ///< of a prompt that is reused, 0 to 1
    double secondsPerFlop = 0.0;                      ///< known before the first trial; 0: not
};

/// Fills in SweepReport::progress and every column's secondsPerTrial. Prefill is taken to follow
/// the FLOPs, what is behind it (decode, answer's nll) to take as long for each trial; both by the
/// mean of the undisturbed trials, of all where every one was disturbed.
void fillProgress(SweepReport& report, const SweepPlan& plan, const SweepCosts& costs);

} // namespace kvscope
