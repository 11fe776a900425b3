#include "engine/lab/sweep_json.h"

#include "engine/lab/sweep.h"

namespace kvscope {
namespace {

const char* stateName(CellState state)
{
    switch (state) {
    case CellState::Queued:
        return "queued";
    case CellState::Running:
        return "running";
    case CellState::Done:
        return "done";
    case CellState::CannotFit:
        break;
    }
    return "cannot_fit";
}

const char* verdictName(PassVerdict verdict)
{
    switch (verdict) {
    case PassVerdict::Passes:
        return "passes";
    case PassVerdict::Fails:
        return "fails";
    case PassVerdict::Undecided:
        break;
    }
    return "undecided";
}

RecordJson proportionJson(const Proportion& proportion)
{
    return {{"correct", proportion.correct},
            {"trials", proportion.trials},
            {"rate", proportion.rate()}};
}

RecordJson intervalJson(const Interval& interval)
{
    return {interval.low, interval.high};
}

RecordJson cellJson(const SweepCell& cell)
{
    RecordJson json = proportionJson(cell.score);
    json["interval"] = intervalJson(cell.interval);
    json["verdict"] = verdictName(cell.verdict);
    json["state"] = stateName(cell.state);
    json["planned"] = cell.plannedTrials;
    json["done"] = cell.trials.size();
    for (std::size_t i = 0; i < kNumAnswerKinds; ++i)
        json["kinds"][kAnswerKindNames.at(i)] = cell.kinds.at(i);
    json["mean_answer_nll"] = cell.meanAnswerNll;
    return json;
}

RecordJson columnJson(const SweepColumn& column, const std::vector<double>& depths)
{
    RecordJson json = {
        {"tokens", column.tokens},
        {"beyond_trained", column.isBeyondTrained},
        {"unfinished", column.isUnfinished},
        {"skip_reason", column.skipReason.empty() ? RecordJson() : RecordJson(column.skipReason)},
        {"cells", RecordJson::array()},
        {"control", cellJson(column.control)},
        {"pooled", cellJson(column.pooled)},
        {"seconds_per_trial", column.secondsPerTrial}};
    for (std::size_t i = 0; i < column.cells.size(); ++i) {
        RecordJson cell = {{"depth", depths.at(i)}};
        cell.update(cellJson(column.cells[i]));
        json["cells"].push_back(std::move(cell));
    }
    return json;
}

RecordJson effectiveJson(const EffectiveLength& effective)
{
    RecordJson json = {
        {"threshold", effective.threshold},    {"tokens", effective.tokens},
        {"most_tokens", effective.mostTokens}, {"point_tokens", effective.pointTokens},
        {"decided", effective.isDecided()},    {"censored", effective.isCensored},
        {"lengths", RecordJson::array()}};
    for (const LengthVerdict& length : effective.lengths) {
        RecordJson row = {{"tokens", length.tokens}};
        row.update(proportionJson(length.score));
        row["interval"] = intervalJson(length.interval);
        row["verdict"] = verdictName(length.verdict);
        json["lengths"].push_back(std::move(row));
    }
    return json;
}

RecordJson amountJson(const SweepAmount& amount)
{
    return {{"cells", amount.cells}, {"trials", amount.trials}, {"tokens", amount.tokens}};
}

RecordJson progressJson(const SweepProgress& progress)
{
    return {
        {"done", amountJson(progress.done)},        {"running", amountJson(progress.running)},
        {"queued", amountJson(progress.queued)},    {"cannot_fit", amountJson(progress.cannotFit)},
        {"seconds_gone", progress.secondsGone},     {"seconds_left", progress.secondsLeft},
        {"reused_tokens", progress.reusedTokens},   {"prompt_tokens", progress.promptTokens},
        {"disturbed_trials", progress.numDisturbed}};
}

RecordJson headlineJson(const SweepReport& report)
{
    const SweepColumn* column = longestColumn(report);
    if (column == nullptr)
        return nullptr;
    const Proportion& score = column->pooled.score;
    return {{"tokens", column->tokens},
            {"accuracy", score.rate()},
            {"line", kPasskeyHeadline},
            {"reached", score.trials > 0 && score.rate() >= kPasskeyHeadline},
            {"interval", intervalJson(column->pooled.interval)}};
}

} // namespace

const SweepColumn* longestColumn(const SweepReport& report)
{
    const SweepColumn* longest = nullptr;
    for (const SweepColumn& column : report.columns)
        if (column.pooled.score.trials > 0 && !column.isUnfinished)
            longest = &column;
    return longest;
}

RecordJson sweepJson(const SweepReport& report, Trials trials)
{
    RecordJson json = {{"experiment", report.experiment},
                       {"conditions", report.conditions},
                       {"leaking", report.isLeaking},
                       {"trained_positions", report.trainedPositions},
                       {"depths", report.depths},
                       {"columns", RecordJson::array()},
                       {"oracle", cellJson(report.oracle)},
                       {"by_depth", RecordJson::array()},
                       {"ends_against_middle",
                        {{"ends", proportionJson(report.endsAgainstMiddle.ends)},
                         {"middle", proportionJson(report.endsAgainstMiddle.middle)},
                         {"p", report.endsAgainstMiddle.p},
                         {"beginning", proportionJson(report.endsAgainstMiddle.beginning)},
                         {"end", proportionJson(report.endsAgainstMiddle.end)}}},
                       {"effective_length",
                        {{"absolute", effectiveJson(report.absolute)},
                         {"relative", effectiveJson(report.relative)}}},
                       {"items", RecordJson::array()},
                       {"linted_prompts", report.numLintedPrompts},
                       {"progress", progressJson(report.progress)}};
    json["oracle"]["tokens"] = report.oracleTokens;
    for (const SweepColumn& column : report.columns)
        json["columns"].push_back(columnJson(column, report.depths));
    for (std::size_t i = 0; i < report.byDepth.size(); ++i) {
        RecordJson row = {{"depth", report.depths.at(i)}};
        row.update(cellJson(report.byDepth[i]));
        json["by_depth"].push_back(std::move(row));
    }
    for (const SweepItemScore& item : report.items)
        json["items"].push_back({{"name", item.name},
                                 {"correct", item.asked.correct},
                                 {"trials", item.asked.trials},
                                 {"found_by_control", item.foundByControl},
                                 {"found_by_oracle", item.foundByOracle}});
    if (report.experiment == "passkey")
        json["headline"] = headlineJson(report);
    if (trials == Trials::Kept) {
        json["trials"] = RecordJson::array();
        for (const SweepTrial& trial : report.trials)
            json["trials"].push_back(trialJson(trial));
    }
    return json;
}

} // namespace kvscope
