// A sweep's summary out of its record or of what a command printed: trials are left out.

#include "engine/lab/report_json.h"
#include "engine/lab/strict_fields.h"
#include "engine/lab/sweep.h"

#include <array>

namespace kvscope {
namespace {

constexpr std::size_t kMostItems = 1000;
constexpr std::size_t kMostText = 2000;
constexpr std::array<const char*, 3> kVerdicts{"passes", "fails", "undecided"};
constexpr std::array<const char*, 4> kStates{"queued", "running", "done", "cannot_fit"};

Proportion proportionFrom(const RecordJson& json)
{
    const Proportion proportion{strictCount(json, "correct"), strictCount(json, "trials")};
    requireField(proportion.correct <= proportion.trials, "more right answers than trials");
    return proportion;
}

Interval intervalFrom(const RecordJson& json)
{
    const RecordJson& pair = strictList(json, "interval", 2);
    requireField(pair.size() == 2, "an interval is not two numbers");
    return {strictNumber(pair[0]), strictNumber(pair[1])};
}

PassVerdict verdictFrom(const RecordJson& json)
{
    return static_cast<PassVerdict>(strictChoice(json, "verdict", kVerdicts));
}

/// How far a cell is and how its answers came out. A card does not ask for it, so where it is not
/// said the cell is done as soon as it has trials.
void takeDetails(SweepCell& cell, const RecordJson& json)
{
    cell.state = cell.score.trials > 0 ? CellState::Done : CellState::Queued;
    if (json.contains("state"))
        cell.state = static_cast<CellState>(strictChoice(json, "state", kStates));
    if (json.contains("planned"))
        cell.plannedTrials = strictCount(json, "planned");
    if (const auto kinds = json.find("kinds"); kinds != json.end())
        for (std::size_t i = 0; i < kNumAnswerKinds; ++i)
            cell.kinds.at(i) = strictCount(*kinds, kAnswerKindNames.at(i));
    // Not a number, which JSON spells null, where an answer had no tokens.
    if (const auto nll = json.find("mean_answer_nll"); nll != json.end() && !nll->is_null())
        cell.meanAnswerNll = strictNumber(json, "mean_answer_nll");
}

SweepCell cellFrom(const RecordJson& json)
{
    SweepCell cell;
    cell.score = proportionFrom(json);
    cell.interval = intervalFrom(json);
    cell.verdict = verdictFrom(json);
    takeDetails(cell, json);
    return cell;
}

std::vector<SweepCell> cellsFrom(const RecordJson& json, const char* key, std::size_t numDepths)
{
    std::vector<SweepCell> cells;
    for (const RecordJson& cell : strictList(json, key, kMostItems))
        cells.push_back(cellFrom(cell));
    requireField(cells.size() == numDepths, std::string(key) + " are not one for each depth");
    return cells;
}

SweepColumn columnFrom(const RecordJson& json, std::size_t numDepths)
{
    SweepColumn column;
    column.tokens = strictCount(json, "tokens");
    column.isBeyondTrained = strictFlag(json, "beyond_trained");
    if (const RecordJson& reason = strictAt(json, "skip_reason"); !reason.is_null())
        column.skipReason = strictText(json, "skip_reason", kMostText);
    if (json.contains("unfinished")) // not in version 0.1's, whose ends of records were finished
        column.isUnfinished = strictFlag(json, "unfinished");
    column.cells = cellsFrom(json, "cells", numDepths);
    column.control = cellFrom(strictAt(json, "control"));
    column.pooled = cellFrom(strictAt(json, "pooled"));
    if (json.contains("seconds_per_trial"))
        column.secondsPerTrial = strictNumber(json, "seconds_per_trial");
    return column;
}

EffectiveLength effectiveFrom(const RecordJson& json)
{
    EffectiveLength effective;
    effective.threshold = strictNumber(json, "threshold");
    effective.tokens = strictCount(json, "tokens");
    effective.mostTokens = strictCount(json, "most_tokens");
    effective.pointTokens = strictCount(json, "point_tokens");
    effective.isCensored = strictFlag(json, "censored");
    for (const RecordJson& length : strictList(json, "lengths", kMostItems))
        effective.lengths.push_back({strictCount(length, "tokens"), proportionFrom(length),
                                     intervalFrom(length), verdictFrom(length)});
    return effective;
}

EndsAgainstMiddle endsFrom(const RecordJson& json)
{
    EndsAgainstMiddle ends;
    ends.ends = proportionFrom(strictAt(json, "ends"));
    ends.middle = proportionFrom(strictAt(json, "middle"));
    ends.p = strictNumber(json, "p");
    if (json.contains("beginning")) { // older records have the two together only
        ends.beginning = proportionFrom(strictAt(json, "beginning"));
        ends.end = proportionFrom(strictAt(json, "end"));
    }
    return ends;
}

} // namespace

SweepReport sweepFrom(const RecordJson& json)
{
    SweepReport report;
    report.experiment = strictText(json, "experiment", kMostText);
    report.conditions = strictText(json, "conditions", kMostText);
    report.isLeaking = strictFlag(json, "leaking");
    report.trainedPositions = strictCount(json, "trained_positions");
    for (const RecordJson& depth : strictList(json, "depths", kMostItems))
        report.depths.push_back(strictNumber(depth));
    for (const RecordJson& column : strictList(json, "columns", kMostItems))
        report.columns.push_back(columnFrom(column, report.depths.size()));
    report.oracle = cellFrom(strictAt(json, "oracle"));
    if (json["oracle"].contains("tokens"))
        report.oracleTokens = strictCount(json["oracle"], "tokens");
    report.byDepth = cellsFrom(json, "by_depth", report.depths.size());
    report.endsAgainstMiddle = endsFrom(strictAt(json, "ends_against_middle"));
    const RecordJson& effective = strictAt(json, "effective_length");
    report.absolute = effectiveFrom(strictAt(effective, "absolute"));
    report.relative = effectiveFrom(strictAt(effective, "relative"));
    return report;
}

} // namespace kvscope
