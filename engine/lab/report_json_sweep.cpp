// A sweep's summary out of its record, as far as a card shows it: trials are left out.

#include "engine/lab/report_json.h"
#include "engine/lab/strict_fields.h"

#include <array>

namespace kvscope {
namespace {

constexpr std::size_t kMostItems = 1000;
constexpr std::size_t kMostText = 2000;
constexpr std::array<const char*, 3> kVerdicts{"passes", "fails", "undecided"};

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

SweepCell cellFrom(const RecordJson& json)
{
    SweepCell cell;
    cell.score = proportionFrom(json);
    cell.interval = intervalFrom(json);
    cell.verdict = verdictFrom(json);
    cell.state = cell.score.trials > 0 ? CellState::Done : CellState::Queued;
    return cell;
}

SweepColumn columnFrom(const RecordJson& json)
{
    SweepColumn column;
    column.tokens = strictCount(json, "tokens");
    column.isBeyondTrained = strictFlag(json, "beyond_trained");
    if (const RecordJson& reason = strictAt(json, "skip_reason"); !reason.is_null())
        column.skipReason = strictText(json, "skip_reason", kMostText);
    for (const RecordJson& cell : strictList(json, "cells", kMostItems))
        column.cells.push_back(cellFrom(cell));
    column.control = cellFrom(strictAt(json, "control"));
    column.pooled = cellFrom(strictAt(json, "pooled"));
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
    return {proportionFrom(strictAt(json, "ends")), proportionFrom(strictAt(json, "middle")),
            strictNumber(json, "p")};
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
        report.columns.push_back(columnFrom(column));
    report.oracle = cellFrom(strictAt(json, "oracle"));
    for (const RecordJson& cell : strictList(json, "by_depth", kMostItems))
        report.byDepth.push_back(cellFrom(cell));
    report.endsAgainstMiddle = endsFrom(strictAt(json, "ends_against_middle"));
    const RecordJson& effective = strictAt(json, "effective_length");
    report.absolute = effectiveFrom(strictAt(effective, "absolute"));
    report.relative = effectiveFrom(strictAt(effective, "relative"));
    return report;
}

} // namespace kvscope
