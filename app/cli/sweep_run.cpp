#include "app/cli/sweep_run.h"

#include "engine/base/units.h"
#include "engine/lab/sweep_json.h"

#include <chrono>

namespace kvscope {
namespace {

/// What is still to be run.
SweepAmount amountLeft(const SweepReport& report)
{
    SweepAmount left;
    const auto add = [&left](const SweepCell& cell, std::int64_t tokens) {
        const std::int64_t trials = cell.plannedTrials - std::ssize(cell.trials);
        if (cell.state == CellState::CannotFit || trials == 0)
            return;
        ++left.cells;
        left.trials += trials;
        left.tokens += trials * tokens;
    };
    add(report.oracle, report.oracleTokens);
    for (const SweepColumn& column : report.columns) {
        add(column.control, column.tokens);
        for (const SweepCell& cell : column.cells)
            add(cell, column.tokens);
    }
    return left;
}

/// Tells on standard error what goes on, at most once a second.
class SweepLines
{
public:
    SweepLines(std::ostream& err, const Sweep& sweep)
        : m_err(err)
        , m_sweep(sweep)
    {
    }

    void plan() const
    {
        const SweepReport report = m_sweep.report();
        const SweepAmount left = amountLeft(report);
        m_err << "plan: " << formatCount(left.trials) << " trials to run, "
              << formatCount(std::ssize(report.trials)) << " done, about "
              << formatCount(left.tokens) << " tokens to read\n";
        for (const SweepColumn& column : report.columns) {
            if (!column.skipReason.empty())
                m_err << "note: " << formatCount(column.tokens)
                      << " tokens are left out: " << column.skipReason << '\n';
            else if (column.isBeyondTrained)
                m_err << "warning: " << formatCount(column.tokens) << " tokens are more than the "
                      << formatCount(report.trainedPositions)
                      << " positions the model was trained on\n";
        }
        if (report.isLeaking)
            m_err << "warning: the question states the key: this shows the leak, not retrieval\n";
    }

    void started(const SweepTrial& trial) { m_trial = trial; }

    void prefilled(const PrefillProgress& progress)
    {
        if (isTime())
            m_err << trialText(m_trial) << ": "
                  << formatCount(progress.reusedTokens + progress.doneTokens) << " of "
                  << formatCount(m_trial.promptTokens) << " tokens\n";
    }

    void finished(const SweepTrial& trial)
    {
        if (!isTime())
            return;
        const SweepReport report = m_sweep.report();
        m_err << trialText(trial) << (trial.isCorrect() ? ": found" : ": not found") << "; "
              << formatCount(std::ssize(report.trials)) << " trials done, "
              << formatCount(amountLeft(report).trials) << " left";
        if (report.progress.secondsLeft > 0.0)
            m_err << ", about " << formatSeconds(report.progress.secondsLeft);
        m_err << '\n';
    }

private:
    bool isTime()
    {
        const auto now = std::chrono::steady_clock::now();
        if (now - m_told < std::chrono::seconds(1))
            return false;
        m_told = now;
        return true;
    }

    std::ostream& m_err;
    const Sweep& m_sweep;
    SweepTrial m_trial;
    std::chrono::steady_clock::time_point m_told = std::chrono::steady_clock::now();
};

/// \returns whether every trial is done
bool runTrials(Sweep& sweep, RunRecord* record, std::int64_t limit, const CliContext& context)
{
    SweepLines lines(context.err, sweep);
    lines.plan();
    SweepObserver observer;
    observer.started = [&](const SweepTrial& trial) { lines.started(trial); };
    observer.prefilled = [&](const PrefillProgress& progress) { lines.prefilled(progress); };
    for (std::int64_t made = 0; limit == 0 || made < limit; ++made) {
        if (context.stop.stop_requested())
            throw Stopped{};
        const auto trial = sweep.runNext(observer, context.stop);
        if (!trial)
            return true;
        if (record != nullptr)
            record->append(kSweepTrialKind, trialJson(*trial));
        lines.finished(*trial);
    }
    return sweep.isDone();
}

} // namespace

SweepRun::SweepRun(Sweep& sweep, const SweepSubject& subject, const RecordOptions& record,
                   const CommonOptions& common, const CliContext& context)
    : m_sweep(sweep)
    , m_context(context)
    , m_record(openRecord(record, common, context, subject.decoder, sweep.report().experiment,
                          sweep.settings()))
{
    if (m_record)
        m_sweep.restore(m_record->earlierEvents());
    m_sweep.requireRunnable();
}

SweepReport SweepRun::run(std::int64_t limitTrials)
{
    m_isWhole = runTrials(m_sweep, m_record ? &*m_record : nullptr, limitTrials, m_context);
    return m_sweep.report();
}

void SweepRun::close()
{
    if (m_isWhole)
        closeRecord(m_record, sweepJson(m_sweep.report(), Trials::LeftOut), m_context);
}

} // namespace kvscope
