#include "engine/lab/sweep_replay.h"

#include "engine/base/errors.h"
#include "engine/lab/strict_fields.h"
#include "engine/lab/sweep.h"
#include "engine/lab/sweep_plan.h"
#include "engine/lab/sweep_scores.h"

#include <algorithm>
#include <functional>

namespace kvscope {
namespace {

constexpr std::size_t kMostEntries = 10'000; // lengths, depths
/// Trials that a record may plan beside those it holds, which memory and time go with: a hundred
/// keys at a thousand lengths and depths. Ten for each that it holds: of a sweep of more, it may
/// have been stopped early.
constexpr std::int64_t kMostPlanned = 100'000;
constexpr std::int64_t kPlannedForOneDone = 10;

/// \param numTrials  that the record holds
SweepLayout layoutFrom(const RecordJson& settings, std::int64_t numTrials)
{
    SweepLayout layout;
    for (const RecordJson& length : strictList(settings, "lengths", kMostEntries))
        layout.lengths.push_back(strictCount(length));
    for (const RecordJson& depth : strictList(settings, "depths", kMostEntries))
        layout.depths.push_back(strictNumber(depth));
    layout.numItems = strictCount(settings, "items");
    layout.numAllItems = strictCount(settings, "all_items");
    layout.maxTrials = strictCount(settings, "max_trials");
    const auto isRising = [](const auto& values) {
        return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) ==
               values.end();
    };
    requireField(isRising(layout.lengths) && isRising(layout.depths) && !layout.lengths.empty() &&
                     layout.lengths.front() > 0,
                 "lengths or depths are not rising");
    const auto cells = 1 + (std::ssize(layout.depths) + 1) * std::ssize(layout.lengths);
    const std::int64_t most = kMostPlanned + kPlannedForOneDone * numTrials;
    // Further rounds follow from trials, so that the first ones bound the plan.
    requireField(layout.numItems > 0 && layout.numAllItems >= layout.numItems &&
                     layout.numItems <= most / cells,
                 "there are too many items for the trials that the record holds");
    return layout;
}

/// Why lengths were not run, by the summary; the window's of version 0.1.0 held counts alone.
void takeSkipReasons(SweepReport& report, const RecordJson& summary)
{
    if (!summary.contains("columns"))
        return;
    const RecordJson& columns = strictList(summary, "columns", kMostEntries);
    requireField(columns.size() == report.columns.size(), "the summary has other lengths");
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (const RecordJson& reason = strictAt(columns[i], "skip_reason"); reason.is_string())
            report.columns[i].skipReason = strictText(columns[i], "skip_reason", 1000);
}

std::vector<SweepTrial> trialsFrom(const std::vector<RecordJson>& events)
{
    std::vector<SweepTrial> trials;
    for (const RecordJson& event : events)
        if (event.value("kind", RecordJson()) == kSweepTrialKind)
            trials.push_back(trialFrom(event));
    return trials;
}

} // namespace

SweepReport recordedSweep(const RunRecordContent& record)
{
    SweepReport report;
    report.experiment = strictText(record.header, "experiment", 100);
    if (report.experiment != "needle" && report.experiment != "needle-pairs" &&
        report.experiment != "passkey")
        throw ArgumentError("the record is of '" + report.experiment + "', not of a sweep");
    const RecordJson& settings = strictAt(record.header, "settings");
    report.trials = trialsFrom(record.events);
    SweepLayout layout = layoutFrom(settings, std::ssize(report.trials));
    report.depths = layout.depths;
    report.isLeaking = strictFlag(settings, "leaking");
    report.trainedPositions = strictCount(settings, "trained_positions");
    report.numLintedPrompts = std::ssize(report.trials);
    for (const std::int64_t tokens : layout.lengths) {
        SweepColumn& column = report.columns.emplace_back();
        column.tokens = tokens;
        column.isBeyondTrained = report.trainedPositions > 0 && tokens > report.trainedPositions;
    }
    if (record.summary)
        takeSkipReasons(report, *record.summary);
    layout.lengths.clear();
    for (const SweepColumn& column : report.columns)
        if (column.skipReason.empty())
            layout.lengths.push_back(column.tokens);
    const SweepPlan plan(layout, report.trials);
    report.conditions =
        strictText(settings, "conditions", 10'000) + replacedText(plan, report.trials);
    fillScores(report, plan, std::nullopt);
    fillProgress(report, plan,
                 {[](std::int64_t tokens) { return static_cast<double>(tokens); },
                  [](const CellKey&) { return 0.0; }, 0.0});
    report.progress.secondsLeft = 0.0;
    return report;
}

} // namespace kvscope
