#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/lab/sweep.h"
#include "engine/lab/sweep_json.h"
#include "engine/session/experiment_run.h"
#include "engine/session/sweep_subject.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace kvscope {
namespace {

/// The request with what the open model adds to it.
SweepRequest requestFor(const OpenModel& model, SweepRequest request, std::uint64_t seed)
{
    request.seed = seed;
    request.contextLimit = model.opened.contextLimit;
    request.secondsPerFlop = model.timedPrefills.secondsPerFlop();
    return request;
}

/// \throws ArgumentError as Sweep, and where the model has no tokenizer
std::unique_ptr<Sweep> sweepOn(const OpenModel& model, const SweepRequest& request,
                               const std::stop_token& stop)
{
    if (model.tokenizer == nullptr)
        throw ArgumentError("this model has no usable tokenizer, so nothing can be asked of it");
    return makeSweep({*model.checkpoint, *model.tokenizer, *model.decoder}, request, stop);
}

std::string trimmed(const std::string& text)
{
    constexpr const char* kSpace = " \n\t";
    const auto first = text.find_first_not_of(kSpace);
    return first == std::string::npos
               ? std::string()
               : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// Where the text holds `part` last; empty where it does not.
TrialPrompt::Range rangeOf(const std::string& text, const std::string& part)
{
    const auto found = part.empty() ? std::string::npos : text.rfind(part);
    return found == std::string::npos ? TrialPrompt::Range{}
                                      : TrialPrompt::Range{found, found + part.size()};
}

/// Each once, in the order of their ids.
std::vector<std::string> controlTokensIn(const OpenModel& model, const std::string& text)
{
    std::set<TokenId> ids;
    for (const TokenId id : model.tokenizer->encode(text, ControlTokens::Parsed))
        if (model.tokenizer->isControl(id))
            ids.insert(id);
    std::vector<std::string> tokens;
    for (const TokenId id : ids)
        tokens.push_back(model.tokenizer->piece(id));
    return tokens;
}

/// By time where that is known, else by trials.
double shareDone(const SweepReport& report)
{
    const SweepProgress& progress = report.progress;
    if (progress.secondsLeft > 0.0)
        return progress.secondsGone / (progress.secondsGone + progress.secondsLeft);
    const std::int64_t trials =
        progress.done.trials + progress.running.trials + progress.queued.trials;
    return static_cast<double>(report.trials.size()) /
           static_cast<double>(std::max<std::int64_t>(trials, 1));
}

/// One sweep, trial by trial.
class SweepRun
{
public:
    SweepRun(ExperimentContext& context, const SweepSettings& settings)
        : m_context(context)
        , m_request(requestFor(context.model(), settings.request, context.request().seed))
        , m_sweep(sweepOn(context.model(), m_request, context.stop()))
    {
    }

    ExperimentReport run()
    {
        m_context.begin(*m_context.model().decoder, m_sweep->settings());
        if (m_context.record() != nullptr)
            m_sweep->restore(m_context.record()->earlierEvents());
        m_sweep->requireRunnable();
        planCache();
        const SweepObserver observer = observerOfTrials();
        tellReport();
        while (const auto trial = m_sweep->runNext(observer, m_context.stop())) {
            m_context.append(kSweepTrialKind, trialJson(*trial));
            if (trial->reusedTokens == 0 && !trial->isDisturbed)
                m_context.model().timedPrefills.add(m_context.model().decoder->config(),
                                                    trial->promptTokens, trial->prefillSeconds);
            tellReport();
            m_context.between();
        }
        m_context.finishRecord(sweepJson(*m_report, Trials::LeftOut));
        return m_report;
    }

private:
    /// A chat between two trials leaves the memory of the longest one.
    void planCache()
    {
        const SweepReport plan = m_sweep->report();
        std::int64_t longest = 1;
        for (const SweepColumn& column : plan.columns)
            if (column.skipReason.empty())
                longest = std::max(longest, column.tokens);
        m_context.planCache(cacheBytesNeeded(m_context.model().context->cache(), longest));
    }

    SweepObserver observerOfTrials()
    {
        SweepObserver observer;
        observer.started = [this](const SweepTrial& trial) { m_trial = trial; };
        observer.stepped = [this] { m_context.showCache(m_sweep->context().cache()); };
        observer.prefilled = [this](const PrefillProgress& progress) {
            tell(trialText(m_trial) + ": " +
                 formatCount(progress.reusedTokens + progress.doneTokens) + " of " +
                 formatCount(m_trial.promptTokens) + " tokens");
        };
        return observer;
    }

    void tellReport()
    {
        m_report = std::make_shared<const SweepReport>(m_sweep->report());
        m_context.emit(SweepTrialDone{m_report});
        tell(m_report->trials.empty() ? std::string() : trialText(m_report->trials.back()));
    }

    void tell(const std::string& what)
    {
        m_context.tell(m_sweep->isDone() ? 1.0 : shareDone(*m_report),
                       m_report->progress.secondsLeft, what);
    }

    ExperimentContext& m_context;
    SweepRequest m_request;
    std::unique_ptr<Sweep> m_sweep;
    std::shared_ptr<const SweepReport> m_report;
    SweepTrial m_trial;
};

} // namespace

TrialPrompt promptOfTrial(const OpenModel& model, const SweepRequest& request,
                          const SweepTrial& trial, const std::stop_token& stop)
{
    const SweepRequest whole = requestFor(model, request, request.seed);
    TrialPrompt prompt;
    prompt.text = sweepOn(model, whole, stop)->promptText(trial);
    const auto task = makeSweepTask(whole);
    const SweepSpot spot = spotOf(trial);
    if (trial.role != TrialRole::Control)
        for (const std::string& statement : task->item(spot).statements)
            if (const auto found = prompt.text.find(statement); found != std::string::npos)
                prompt.statements.push_back({found, found + statement.size()});
    prompt.question = rangeOf(prompt.text, trimmed(task->message(spot, 0, 0).question));
    prompt.controlTokens = controlTokensIn(model, prompt.text);
    return prompt;
}

SweepReport plannedSweep(const OpenModel& model, const SweepRequest& request,
                         const std::stop_token& stop)
{
    const auto sweep = sweepOn(model, requestFor(model, request, request.seed), stop);
    sweep->requireRunnable();
    return sweep->report();
}

SweepReport searchNeedles(ExperimentContext& context, const SweepRequest& request,
                          const SearchObserver& told)
{
    const auto sweep =
        sweepOn(context.model(), requestFor(context.model(), request, context.request().seed),
                context.stop());
    sweep->requireRunnable();
    SweepObserver observer;
    observer.started = [&](const SweepTrial& trial) {
        told(shareDone(sweep->report()), trialText(trial));
    };
    observer.stepped = [&] { context.showCache(sweep->context().cache()); };
    while (sweep->runNext(observer, context.stop()))
        context.between();
    return sweep->report();
}

ExperimentReport runSweep(ExperimentContext& context, const SweepSettings& settings)
{
    return SweepRun(context, settings).run();
}

} // namespace kvscope
