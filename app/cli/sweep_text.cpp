#include "app/cli/sweep_command.h"
#include "app/cli/text_table.h"
#include "engine/base/units.h"
#include "engine/lab/effective_length.h"
#include "engine/lab/sweep_json.h"

#include <algorithm>

namespace kvscope {
namespace {

std::string percent(double share)
{
    return fixedText(100.0 * share, 1) + " %";
}

std::string scoreText(const Proportion& score)
{
    return std::to_string(score.correct) + "/" + std::to_string(score.trials);
}

std::string intervalText(const Interval& interval)
{
    return "[" + fixedText(interval.low, 2) + ", " + fixedText(interval.high, 2) + "]";
}

const char* mark(PassVerdict verdict)
{
    switch (verdict) {
    case PassVerdict::Passes:
        return " +";
    case PassVerdict::Fails:
        return " -";
    case PassVerdict::Undecided:
        break;
    }
    return " ?";
}

enum class Verdict { Shown, LeftOut };

std::string cellText(const SweepCell& cell, Verdict verdict = Verdict::Shown)
{
    if (cell.state == CellState::CannotFit)
        return "cannot fit";
    if (cell.score.trials == 0)
        return "-";
    return scoreText(cell.score) + " " + intervalText(cell.interval) +
           (verdict == Verdict::Shown ? mark(cell.verdict) : "  ");
}

void printMap(std::ostream& out, const SweepReport& report)
{
    std::vector<std::string> headings{"depth"};
    for (const SweepColumn& column : report.columns)
        headings.push_back(formatCount(column.tokens) + (column.isBeyondTrained ? " *" : "  "));
    headings.emplace_back("by depth  ");
    TextTable table(headings);
    for (std::size_t depth = 0; depth < report.depths.size(); ++depth) {
        std::vector<std::string> row{fixedText(report.depths[depth], 0) + " %"};
        for (const SweepColumn& column : report.columns)
            row.push_back(cellText(column.cells.at(depth)));
        row.push_back(cellText(report.byDepth.at(depth)));
        table.addRow(row);
    }
    std::vector<std::string> pooledRow{"all"};
    std::vector<std::string> controlRow{"control"};
    for (const SweepColumn& column : report.columns) {
        pooledRow.push_back(cellText(column.pooled));
        controlRow.push_back(cellText(column.control, Verdict::LeftOut));
    }
    pooledRow.emplace_back("");
    controlRow.emplace_back("");
    table.addRow(pooledRow);
    table.addRow(controlRow);
    table.print(out);
}

void printLegend(std::ostream& out, const SweepReport& report)
{
    out << "\nright of asked, with its 95 % interval; + at or above " << percent(kAbsolutePassRate)
        << ", - below, ? undecided\n";
    if (std::any_of(report.columns.begin(), report.columns.end(),
                    [](const SweepColumn& column) { return column.isBeyondTrained; }))
        out << "* beyond the " << formatCount(report.trainedPositions)
            << " trained positions; not in the rows by depth\n";
    for (const SweepColumn& column : report.columns)
        if (!column.skipReason.empty())
            out << formatCount(column.tokens) << " tokens: " << column.skipReason << '\n';
    out << "control (asked without it): what guessing scores\n"
        << "alone in a prompt of " << formatCount(report.oracleTokens)
        << " tokens: " << cellText(report.oracle, Verdict::LeftOut) << '\n';
}

void printEnds(std::ostream& out, const SweepReport& report)
{
    const EndsAgainstMiddle& ends = report.endsAgainstMiddle;
    if (ends.ends.trials == 0 || ends.middle.trials == 0)
        return;
    out << "ends " << scoreText(ends.ends) << " (" << percent(ends.ends.rate())
        << ") against middle " << scoreText(ends.middle) << " (" << percent(ends.middle.rate())
        << "), first round: p = " << (ends.p < 0.001 ? "below 0.001" : fixedText(ends.p, 3))
        << " (Fisher, two-sided)\n";
}

std::string tokensText(std::int64_t tokens)
{
    return tokens == 0 ? "none of the lengths" : formatCount(tokens) + " tokens";
}

void printEffective(std::ostream& out, const char* rule, const EffectiveLength& effective)
{
    if (effective.lengths.empty())
        return;
    if (!effective.hasLine()) {
        out << "effective length, " << rule
            << ": undecided: nothing was found alone either, so that there is no line\n";
        return;
    }
    out << "effective length, " << rule << " (" << percent(effective.threshold) << "): ";
    if (effective.isDecided())
        out << tokensText(effective.tokens);
    else
        out << "undecided, from " << tokensText(effective.tokens) << " to "
            << formatCount(effective.mostTokens);
    if (effective.isCensored)
        out << ", or more: no length failed";
    out << "; by the rates alone " << tokensText(effective.pointTokens) << '\n';
}

void printKinds(std::ostream& out, const SweepReport& report)
{
    TextTable table({"tokens", "found", "bare wrong", "restated wrong", "no number", "empty",
                     "substring", "answer nll"});
    for (const SweepColumn& column : report.columns) {
        const SweepCell& cell = column.pooled;
        if (cell.trials.empty())
            continue;
        const auto loose = std::count_if(cell.trials.begin(), cell.trials.end(),
                                         [&](std::size_t i) { return report.trials[i].isLoose; });
        std::vector<std::string> row{formatCount(column.tokens)};
        for (const std::int64_t kind : cell.kinds)
            row.push_back(std::to_string(kind));
        row.push_back(std::to_string(loose));
        row.push_back(fixedText(cell.meanAnswerNll, 3));
        table.addRow(row);
    }
    out << "\nanswers by kind (substring: a plain search would have counted them); nll of the "
           "right answer, nats per token\n";
    table.print(out);
}

void printItems(std::ostream& out, const SweepReport& report)
{
    TextTable table({"fact", "found", "alone", "control"});
    for (const SweepItemScore& item : report.items)
        table.addRow({item.name, scoreText(item.asked), item.foundByOracle ? "found" : "not found",
                      item.foundByControl ? "FOUND: says nothing" : "not found"});
    out << '\n';
    table.print(out);
}

void printHeadline(std::ostream& out, const SweepReport& report)
{
    const SweepColumn* column = longestColumn(report);
    if (column == nullptr)
        return;
    const double rate = column->pooled.score.rate();
    out << "headline: " << percent(rate) << " at " << formatCount(column->tokens) << ", which is "
        << (rate >= kPasskeyHeadline ? "at or above" : "BELOW") << " the line of "
        << percent(kPasskeyHeadline) << " (interval " << intervalText(column->pooled.interval)
        << ")";
    if (report.isLeaking)
        out << "; the question states the key, so this is no measure of retrieval";
    if (column != &report.columns.back())
        out << "; longer lengths were not run";
    out << '\n';
}

} // namespace

void printSweep(std::ostream& out, const SweepReport& report)
{
    const bool isPasskey = report.experiment == "passkey";
    out << report.experiment << ": " << report.conditions << "\n";
    if (report.isLeaking)
        out << "THE ANSWER IS IN THE QUESTION (--leaky-template)\n";
    out << '\n';
    printMap(out, report);
    printLegend(out, report);
    printEnds(out, report);
    printEffective(out, "absolute", report.absolute);
    printEffective(out, "85 % of the score alone", report.relative);
    if (isPasskey)
        printHeadline(out, report);
    printKinds(out, report);
    if (!isPasskey)
        printItems(out, report);
    const SweepProgress& progress = report.progress;
    out << '\n'
        << formatCount(report.numLintedPrompts) << " prompts looked through for their answer; "
        << formatCount(progress.reusedTokens) << " of " << formatCount(progress.promptTokens)
        << " tokens not prefilled again; " << formatSeconds(progress.secondsGone);
    if (progress.numDisturbed > 0)
        out << "; " << formatCount(progress.numDisturbed) << " trials timed under other load";
    if (progress.queued.trials + progress.running.trials > 0)
        out << "; NOT FINISHED, --resume goes on";
    out << '\n';
}

} // namespace kvscope
