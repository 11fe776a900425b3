// The session's side of experiments: they run on the engine thread like any command, and between
// their parts look whether they are to pause, to end, or to let a chat message through.
#include "engine/base/errors.h"
#include "engine/lab/failure_text.h"
#include "engine/session/experiment_run.h"
#include "engine/session/plan_experiment.h"
#include "engine/session/session_impl.h"

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

/// Memory that chats leave to the experiment that waits for them, until it waits no longer: also
/// where it is given up meanwhile, or every later chat would leave it to nobody.
class Reservation
{
public:
    Reservation(std::uint64_t& reservedBytes, std::uint64_t bytes)
        : m_reservedBytes(reservedBytes)
    {
        m_reservedBytes = bytes;
    }
    ~Reservation() { m_reservedBytes = 0; }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

private:
    std::uint64_t& m_reservedBytes;
};

} // namespace

void Session::Impl::execute(const PlanCommand& command, const std::stop_token& stop)
{
    ExperimentPlan plan;
    try {
        if (!model)
            throw ArgumentError("no model is open");
        plan = kvscope::planExperiment(*model, command.request, stop);
    } catch (...) {
        plan.refusal = failureFromCurrentException().message;
    }
    emitLab(command.experiment, ExperimentPlanned{command.request, std::move(plan)});
}

void Session::Impl::execute(const PromptCommand& command, const std::stop_token& stop)
{
    TrialPrompt prompt;
    try {
        if (!model)
            throw ArgumentError("no model is open");
        prompt = promptOfTrial(*model, command.request, command.trial, stop);
    } catch (...) {
        prompt.missing = failureFromCurrentException().message;
    }
    prompt.trial = command.trial;
    emitLab(command.id, std::move(prompt));
}

void Session::Impl::execute(const ExperimentCommand& command, const std::stop_token& stop)
{
    const std::uint64_t id = command.experiment;
    try {
        if (!model)
            throw ArgumentError("no model is open");
        ExperimentHooks hooks;
        hooks.emit = [this, id](LabNews what) { emitLab(id, std::move(what)); };
        hooks.between = [this, id](std::uint64_t reserved) { betweenParts(id, reserved); };
        hooks.waitForRecord = [this, id](const std::string& message, std::uint64_t reserved) {
            waitForRecord(id, message, reserved);
        };
        publisher.state().phase = Phase::Lab;
        ExperimentContext context(*model, publisher, std::move(hooks), command.request, stop);
        ExperimentReport report = kvscope::runExperiment(context);
        context.tell(1.0, 0.0, {});
        emitLab(id, ExperimentFinished{std::move(report), context.secondsGone()});
    } catch (const Stopped&) {
        emitLab(id, ExperimentCancelled{});
    } catch (...) {
        FailureText failure = failureFromCurrentException();
        emitLab(id, ExperimentFailed{std::move(failure.message), std::move(failure.detail)});
    }
    {
        const std::lock_guard lock(mutex);
        runningExperiment = 0;
        isPaused = false;
    }
    publishIdle();
}

void Session::Impl::betweenParts(std::uint64_t experiment, std::uint64_t reserved)
{
    const Reservation reservation(reservedBytes, reserved);
    serveWaiting(experiment);
    waitWhilePaused(experiment, {});
}

void Session::Impl::waitForRecord(std::uint64_t experiment, const std::string& message,
                                  std::uint64_t reserved)
{
    {
        const std::lock_guard lock(mutex);
        isPaused = true;
    }
    const Reservation reservation(reservedBytes, reserved);
    waitWhilePaused(experiment, {ExperimentPaused::Reason::Record, message});
}

void Session::Impl::waitWhilePaused(std::uint64_t experiment, const ExperimentPaused& pause)
{
    bool hasTold = false;
    for (;;) {
        std::unique_lock lock(mutex);
        if (experimentStop.stop_requested())
            throw Stopped{};
        if (!isPaused)
            break;
        if (!std::exchange(hasTold, true)) {
            lock.unlock();
            emitLab(experiment, pause);
            lock.lock();
        }
        changed.wait(lock, [this] {
            return !isPaused || experimentStop.stop_requested() || hasServable() ||
                   !dropped.empty();
        });
        lock.unlock();
        if (serveWaiting(experiment)) // which told that it goes on, but it is still paused
            hasTold = false;
    }
    if (hasTold)
        emitLab(experiment, ExperimentResumed{});
}

bool Session::Impl::hasServable() const
{
    for (const SessionCommand& command : queue) {
        if (std::holds_alternative<OpenRequest>(command))
            return false;
        if (!std::holds_alternative<ExperimentCommand>(command))
            return true;
    }
    return false;
}

std::optional<SessionCommand> Session::Impl::takeServable()
{
    for (auto command = queue.begin(); command != queue.end(); ++command) {
        if (std::holds_alternative<OpenRequest>(*command))
            return std::nullopt;
        if (std::holds_alternative<ExperimentCommand>(*command))
            continue;
        std::optional<SessionCommand> taken(std::move(*command));
        queue.erase(command);
        return taken;
    }
    return std::nullopt;
}

bool Session::Impl::serveWaiting(std::uint64_t experiment)
{
    bool hasAnswered = false;
    for (;;) {
        tellDropped();
        std::optional<SessionCommand> command;
        std::stop_token stop;
        {
            const std::lock_guard lock(mutex);
            if (!experimentStop.stop_requested())
                command = takeServable();
            if (command)
                stop = begin(*command);
        }
        if (!command)
            break;
        if (std::holds_alternative<GenerateCommand>(*command) && !std::exchange(hasAnswered, true))
            emitLab(experiment, ExperimentPaused{ExperimentPaused::Reason::Chat, {}});
        run(*command, stop);
        const std::lock_guard lock(mutex);
        runs = kindOf<ExperimentCommand>;
    }
    if (hasAnswered) {
        publisher.state().phase = Phase::Lab;
        emitLab(experiment, ExperimentResumed{});
    }
    return hasAnswered;
}

void Session::Impl::giveUpExperiments()
{
    dropWaiting<ExperimentCommand>();
    if (runningExperiment != 0)
        experimentStop.request_stop();
}

std::uint64_t Session::planExperiment(ExperimentRequest request)
{
    const std::lock_guard lock(m_impl->mutex);
    std::erase_if(m_impl->queue, [](const SessionCommand& waiting) {
        return std::holds_alternative<PlanCommand>(waiting);
    });
    const std::uint64_t id = ++m_impl->lastExperiment;
    m_impl->queue.push_back(PlanCommand{id, std::move(request)});
    m_impl->changed.notify_all();
    return id;
}

std::uint64_t Session::makePrompt(SweepRequest request, SweepTrial trial)
{
    const std::lock_guard lock(m_impl->mutex);
    std::erase_if(m_impl->queue, [](const SessionCommand& waiting) {
        return std::holds_alternative<PromptCommand>(waiting);
    });
    const std::uint64_t id = ++m_impl->lastExperiment;
    m_impl->queue.push_back(PromptCommand{id, std::move(request), std::move(trial)});
    m_impl->changed.notify_all();
    return id;
}

std::uint64_t Session::runExperiment(ExperimentRequest request)
{
    const std::lock_guard lock(m_impl->mutex);
    const bool isAlone = m_impl->runningExperiment == 0 &&
                         std::ranges::none_of(m_impl->queue, [](const SessionCommand& waiting) {
                             return std::holds_alternative<ExperimentCommand>(waiting);
                         });
    if (isAlone) // a pause from now on is meant for it, also before it begins
        m_impl->isPaused = false;
    const std::uint64_t id = ++m_impl->lastExperiment;
    m_impl->queue.push_back(ExperimentCommand{id, std::move(request)});
    m_impl->changed.notify_all();
    return id;
}

void Session::pauseExperiment()
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->isPaused = true;
    m_impl->changed.notify_all();
}

void Session::resumeExperiment()
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->isPaused = false;
    m_impl->changed.notify_all();
}

void Session::cancelExperiment()
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->giveUpExperiments();
    m_impl->changed.notify_all();
}

} // namespace kvscope
