#include "engine/lab/sweep_scores.h"

#include "engine/lab/effective_length.h"
#include "engine/lab/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace kvscope {
namespace {

bool isEnd(double depth)
{
    return depth == 0.0 || depth == 100.0;
}

void settle(SweepCell& cell)
{
    cell.interval = wilsonInterval(cell.score);
    cell.verdict = passVerdict(cell.score, kAbsolutePassRate);
}

/// Whether a depth of the length lacks answers of its first round.
bool lacksFirstRound(const SweepPlan& plan, const std::vector<double>& depths, std::int64_t tokens)
{
    return std::any_of(depths.begin(), depths.end(), [&](double depth) {
        const auto isUndone = [&](std::int64_t item) {
            return !plan.trialAt({TrialRole::Asked, tokens, depth, item, 0});
        };
        return std::any_of(plan.items().begin(), plan.items().end(), isUndone);
    });
}

/// Builds cells out of the plan's spots.
class Scorer
{
public:
    Scorer(SweepReport& report, const SweepPlan& plan, const std::optional<SweepSpot>& running)
        : m_report(report)
        , m_plan(plan)
        , m_running(running)
        , m_next(plan.next())
    {
        for (const SweepSpot& spot : plan.spots())
            m_spots[cellOf(spot)].push_back(spot);
    }

    SweepCell cell(const CellKey& key) const
    {
        SweepCell cell;
        const auto found = m_spots.find(key);
        if (found == m_spots.end())
            return cell;
        cell.plannedTrials = std::ssize(found->second);
        double nll = 0.0;
        std::int64_t numTokens = 0;
        for (const SweepSpot& spot : found->second)
            if (const auto index = m_plan.trialAt(spot)) {
                cell.trials.push_back(*index);
                count(cell, m_report.trials[*index]);
                for (const AnswerToken& token : m_report.trials[*index].answerTokens) {
                    nll += token.nll;
                    ++numTokens;
                }
            }
        cell.meanAnswerNll = numTokens > 0 ? nll / static_cast<double>(numTokens) : 0.0;
        cell.state = stateOf(cell, key);
        settle(cell);
        return cell;
    }

    /// Cells as one, each weighing the same.
    static SweepCell together(const std::vector<const SweepCell*>& cells)
    {
        SweepCell sum;
        std::vector<Proportion> scores;
        double nll = 0.0;
        for (const SweepCell* cell : cells) {
            scores.push_back(cell->score);
            sum.plannedTrials += cell->plannedTrials;
            sum.trials.insert(sum.trials.end(), cell->trials.begin(), cell->trials.end());
            for (std::size_t kind = 0; kind < kNumAnswerKinds; ++kind)
                sum.kinds[kind] += cell->kinds[kind];
            nll += cell->meanAnswerNll * static_cast<double>(cell->trials.size());
        }
        sum.score = pooledEqually(scores);
        if (!sum.trials.empty())
            sum.meanAnswerNll = nll / static_cast<double>(sum.trials.size());
        sum.state = stateOf(cells);
        settle(sum);
        return sum;
    }

private:
    void count(SweepCell& cell, const SweepTrial& trial) const
    {
        // A control shows what it shows; elsewhere an item that it answered says nothing.
        if (trial.role != TrialRole::Control && !m_plan.counts(trial.item))
            return;
        ++cell.score.trials;
        cell.score.correct += trial.isCorrect() ? 1 : 0;
        ++cell.kinds[static_cast<std::size_t>(trial.kind)];
    }

    CellState stateOf(const SweepCell& cell, const CellKey& key) const
    {
        if (m_running && cellOf(*m_running) == key)
            return CellState::Running;
        if (std::ssize(cell.trials) == cell.plannedTrials)
            return CellState::Done;
        const bool isNext = m_next && cellOf(*m_next) == key;
        return isNext && !cell.trials.empty() ? CellState::Running : CellState::Queued;
    }

    static CellState stateOf(const std::vector<const SweepCell*>& cells)
    {
        const auto all = [&](CellState state) {
            return std::all_of(cells.begin(), cells.end(),
                               [state](const SweepCell* cell) { return cell->state == state; });
        };
        for (const CellState state : {CellState::Queued, CellState::Done, CellState::CannotFit})
            if (all(state))
                return state;
        return CellState::Running;
    }

    SweepReport& m_report;
    const SweepPlan& m_plan;
    const std::optional<SweepSpot>& m_running;
    std::optional<SweepSpot> m_next; ///< found once: looking for it passes all trials that are done
    std::map<CellKey, std::vector<SweepSpot>> m_spots;
};

void fillColumns(SweepReport& report, const SweepPlan& plan, const Scorer& scorer)
{
    for (SweepColumn& column : report.columns) {
        column.cells.clear();
        column.isUnfinished =
            column.skipReason.empty() && lacksFirstRound(plan, report.depths, column.tokens);
        if (!column.skipReason.empty()) {
            SweepCell skipped;
            skipped.state = CellState::CannotFit;
            skipped.plannedTrials = std::ssize(plan.items());
            column.cells.assign(report.depths.size(), skipped);
            column.control = column.pooled = skipped;
            column.pooled.plannedTrials *= std::ssize(report.depths);
            continue;
        }
        std::vector<const SweepCell*> parts;
        for (const double depth : report.depths)
            column.cells.push_back(scorer.cell({TrialRole::Asked, column.tokens, depth}));
        for (const SweepCell& cell : column.cells)
            parts.push_back(&cell);
        column.control = scorer.cell({TrialRole::Control, column.tokens, 0.0});
        column.pooled = Scorer::together(parts);
    }
}

void fillDepths(SweepReport& report)
{
    report.byDepth.clear();
    for (std::size_t i = 0; i < report.depths.size(); ++i) {
        std::vector<const SweepCell*> parts;
        for (const SweepColumn& column : report.columns)
            if (!column.isBeyondTrained && column.skipReason.empty())
                parts.push_back(&column.cells[i]);
        report.byDepth.push_back(Scorer::together(parts));
    }
}

/// Lengths that speak for a claim: run, and at every depth.
bool isMeasured(const SweepColumn& column)
{
    return column.skipReason.empty() && !column.isUnfinished && column.pooled.score.trials > 0;
}

/// By the first round alone: which cells are given more depends on their answers, and the exact
/// test does not know of that. By whole lengths alone: of one that has its depth 0 and no middle,
/// the length would stand in for the depth.
void fillEnds(SweepReport& report, const SweepPlan& plan)
{
    EndsAgainstMiddle& ends = report.endsAgainstMiddle;
    ends = {};
    std::set<std::int64_t> lengths;
    for (const SweepColumn& column : report.columns)
        if (isMeasured(column) && !column.isBeyondTrained)
            lengths.insert(column.tokens);
    for (const SweepSpot& spot : plan.spots()) {
        const auto index = plan.trialAt(spot);
        if (spot.role != TrialRole::Asked || spot.round != 0 || !lengths.contains(spot.tokens) ||
            !plan.counts(spot.item) || !index)
            continue;
        const auto count = [isCorrect = report.trials[*index].isCorrect()](Proportion& part) {
            ++part.trials;
            part.correct += isCorrect ? 1 : 0;
        };
        count(isEnd(spot.depth) ? ends.ends : ends.middle);
        if (isEnd(spot.depth))
            count(spot.depth == 0.0 ? ends.beginning : ends.end);
    }
    ends.p = fisherExact(ends.ends, ends.middle);
}

void fillEffectiveLengths(SweepReport& report)
{
    std::vector<LengthScore> scores;
    for (const SweepColumn& column : report.columns)
        if (isMeasured(column))
            scores.push_back({column.tokens, column.pooled.score});
    report.absolute = effectiveLength(scores, kAbsolutePassRate);
    report.relative = {};
    if (report.oracle.score.trials > 0)
        report.relative = effectiveLength(scores, relativePassRate(report.oracle.score));
}

void fillItems(SweepReport& report, const SweepPlan& plan)
{
    report.items.clear();
    std::map<std::string, std::size_t> indices;
    for (const SweepTrial& trial : report.trials) {
        const auto [found, isNew] = indices.emplace(trial.itemName, report.items.size());
        if (isNew)
            report.items.emplace_back().name = trial.itemName;
        SweepItemScore& item = report.items[found->second];
        if (trial.role == TrialRole::Asked) {
            ++item.asked.trials;
            item.asked.correct += trial.isCorrect() ? 1 : 0;
        } else if (trial.role == TrialRole::Oracle) {
            item.foundByOracle = trial.isCorrect();
        }
        item.foundByControl = plan.foundByControl().contains(trial.item);
    }
}

} // namespace

Proportion pooledEqually(std::span<const Proportion> parts)
{
    double rates = 0.0;
    double inverses = 0.0;
    double count = 0.0;
    bool areEqual = true;
    std::int64_t trials = 0;
    for (const Proportion& part : parts) {
        if (part.trials == 0)
            continue;
        areEqual = areEqual && (trials == 0 || part.trials == trials);
        trials = part.trials;
        rates += part.rate();
        inverses += 1.0 / static_cast<double>(part.trials);
        count += 1.0;
    }
    if (areEqual || count == 0.0)
        return pooled(parts);
    Proportion equal;
    equal.trials = std::llround(count * count / inverses);
    equal.correct = std::llround(rates / count * static_cast<double>(equal.trials));
    return equal;
}

std::string replacedText(const SweepPlan& plan, std::span<const SweepTrial> trials)
{
    std::map<std::int64_t, const std::string*> names;
    for (const SweepTrial& trial : trials)
        if (trial.role == TrialRole::Control)
            names.emplace(trial.item, &trial.itemName);
    std::string text;
    for (const std::int64_t item : plan.foundByControl()) {
        const bool isInUse = std::binary_search(plan.items().begin(), plan.items().end(), item);
        text += (text.empty() ? "; answered without being told: " : ", ") + *names.at(item) +
                (isInUse ? " (left out of the scores)" : " (replaced)");
    }
    return text;
}

void fillScores(SweepReport& report, const SweepPlan& plan, const std::optional<SweepSpot>& running)
{
    const Scorer scorer(report, plan, running);
    report.oracle = scorer.cell({TrialRole::Oracle, 0, 0.0});
    std::int64_t oracleTokens = 0;
    for (const std::size_t index : report.oracle.trials)
        oracleTokens += report.trials[index].promptTokens;
    if (!report.oracle.trials.empty())
        report.oracleTokens = oracleTokens / std::ssize(report.oracle.trials);
    fillColumns(report, plan, scorer);
    fillDepths(report);
    fillEnds(report, plan);
    fillEffectiveLengths(report);
    fillItems(report, plan);
}

} // namespace kvscope
