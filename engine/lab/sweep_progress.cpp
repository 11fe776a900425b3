#include "engine/lab/sweep_scores.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

namespace kvscope {
namespace {

using TrialList = std::vector<const SweepTrial*>;

/// The trials that times are taken from: those that no other load disturbed, if there are any.
TrialList timedTrials(const TrialList& all)
{
    TrialList quiet;
    std::copy_if(all.begin(), all.end(), std::back_inserter(quiet),
                 [](const SweepTrial* trial) { return !trial->isDisturbed; });
    return quiet.empty() ? all : quiet;
}

/// Seconds by what was measured.
class Estimate
{
public:
    Estimate(const SweepReport& report, const SweepCosts& costs)
        : m_costs(costs)
        , m_secondsPerFlop(costs.secondsPerFlop)
    {
        double flops = 0.0;
        double prefill = 0.0;
        double behind = 0.0;
        double count = 0.0;
        TrialList all;
        for (const SweepTrial& trial : report.trials)
            all.push_back(&trial);
        for (const SweepTrial* trial : timedTrials(all)) {
            flops += costs.prefillFlops(trial->promptTokens) -
                     (trial->reusedTokens > 0 ? costs.prefillFlops(trial->reusedTokens) : 0.0);
            prefill += trial->prefillSeconds;
            behind += trial->seconds - trial->prefillSeconds;
            count += 1.0;
        }
        if (flops > 0.0)
            m_secondsPerFlop = prefill / flops;
        if (count > 0.0)
            m_secondsBehind = behind / count;
    }

    bool isKnown() const { return m_secondsPerFlop > 0.0; }
    double secondsFor(const CellKey& cell, std::int64_t tokens) const
    {
        const double whole = m_costs.prefillFlops(tokens);
        const auto shared =
            static_cast<std::int64_t>(m_costs.sharedPart(cell) * static_cast<double>(tokens));
        const double spared = shared > 0 ? m_costs.prefillFlops(shared) : 0.0;
        return m_secondsPerFlop * (whole - spared) + m_secondsBehind;
    }

private:
    const SweepCosts& m_costs;
    double m_secondsPerFlop;
    double m_secondsBehind = 0.0;
};

void add(SweepAmount& amount, const SweepCell& cell, std::int64_t tokens)
{
    ++amount.cells;
    amount.trials += cell.plannedTrials;
    amount.tokens += cell.plannedTrials * tokens;
}

void addCell(SweepProgress& progress, const SweepCell& cell, std::int64_t tokens)
{
    switch (cell.state) {
    case CellState::Queued:
        return add(progress.queued, cell, tokens);
    case CellState::Running:
        return add(progress.running, cell, tokens);
    case CellState::Done:
        return add(progress.done, cell, tokens);
    case CellState::CannotFit:
        return add(progress.cannotFit, cell, tokens);
    }
}

void fillAmounts(SweepReport& report)
{
    SweepProgress& progress = report.progress;
    addCell(progress, report.oracle, report.oracleTokens);
    for (const SweepColumn& column : report.columns) {
        addCell(progress, column.control, column.tokens);
        for (const SweepCell& cell : column.cells)
            addCell(progress, cell, column.tokens);
    }
    for (const SweepTrial& trial : report.trials) {
        progress.secondsGone += trial.seconds;
        progress.reusedTokens += trial.reusedTokens;
        progress.promptTokens += trial.promptTokens;
        progress.numDisturbed += trial.isDisturbed ? 1 : 0;
    }
}

/// A trial's mean seconds; 0 without any.
double measuredSeconds(const TrialList& all)
{
    const TrialList trials = timedTrials(all);
    double sum = 0.0;
    for (const SweepTrial* trial : trials)
        sum += trial->seconds;
    return trials.empty() ? 0.0 : sum / static_cast<double>(trials.size());
}

} // namespace

void fillProgress(SweepReport& report, const SweepPlan& plan, const SweepCosts& costs)
{
    report.progress = {};
    fillAmounts(report);
    const Estimate estimate(report, costs);
    std::map<std::int64_t, TrialList> byLength;
    for (const SweepTrial& trial : report.trials)
        byLength[trial.tokens].push_back(&trial);
    for (SweepColumn& column : report.columns) {
        column.secondsPerTrial = measuredSeconds(byLength[column.tokens]);
        if (column.secondsPerTrial == 0.0 && estimate.isKnown() && column.skipReason.empty())
            column.secondsPerTrial =
                estimate.secondsFor({TrialRole::Asked, column.tokens, 50.0}, column.tokens);
    }
    if (!estimate.isKnown())
        return;
    constexpr std::int64_t kOracleTokens = 64; // before one was made
    const std::int64_t oracleTokens = std::max(report.oracleTokens, kOracleTokens);
    for (const SweepSpot& spot : plan.spots())
        if (!plan.trialAt(spot))
            report.progress.secondsLeft += estimate.secondsFor(
                cellOf(spot), spot.role == TrialRole::Oracle ? oracleTokens : spot.tokens);
}

} // namespace kvscope
