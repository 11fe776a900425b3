#include "engine/session/session.h"

#include "engine/base/errors.h"
#include "engine/base/memory_reading.h"
#include "engine/lab/failure_text.h"
#include "engine/session/chat_run.h"
#include "engine/session/session_impl.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <sys/resource.h>
#include <utility>

namespace kvscope {
namespace {

CommandFailed failedCommand(CommandFailed::Command command, std::uint64_t generation)
{
    FailureText failure = failureFromCurrentException();
    return {command, std::move(failure.message), std::move(failure.detail), generation};
}

} // namespace

Session::Impl::Impl(Callbacks given)
    : callbacks(std::move(given))
    , publisher(callbacks.snapshotReady)
    , thread([this](const std::stop_token& quit) { loop(quit); })
{
}

Session::Impl::~Impl()
{
    thread.request_stop();
    const std::lock_guard lock(mutex);
    queue.clear();
    current.request_stop();
    experimentStop.request_stop();
    changed.notify_all();
}

void Session::Impl::push(SessionCommand command)
{
    const std::lock_guard lock(mutex);
    queue.push_back(std::move(command));
    changed.notify_all();
}

std::stop_token Session::Impl::begin(const SessionCommand& command)
{
    runs = command.index();
    if (const auto* experiment = std::get_if<ExperimentCommand>(&command)) {
        experimentStop = std::stop_source();
        runningExperiment = experiment->experiment;
        return experimentStop.get_token();
    }
    current = std::stop_source();
    answer.reset();
    return current.get_token();
}

void Session::Impl::run(const SessionCommand& command, const std::stop_token& stop)
{
    try {
        std::visit([&](const auto& one) { execute(one, stop); }, command);
    } catch (...) { // not the command, which tells its own failures, but what it ends with
        emit(Notice{failureFromCurrentException().message, 0});
    }
}

void Session::Impl::loop(const std::stop_token& quit)
{
    const c10::InferenceMode inference;
    // A little behind the window, so that with as many threads as cores a repaint still comes at
    // once. Worker threads of the pool inherit it, as they are made from here.
    ::setpriority(PRIO_PROCESS, 0, 5);
    while (!quit.stop_requested()) {
        std::optional<SessionCommand> command;
        std::stop_token stop;
        {
            std::unique_lock lock(mutex);
            changed.wait(
                lock, [&] { return !queue.empty() || quit.stop_requested() || !dropped.empty(); });
            if (!queue.empty()) {
                command = std::move(queue.front());
                queue.pop_front();
                stop = begin(*command);
            }
        }
        tellDropped();
        if (!command)
            continue;
        run(*command, stop);
        const std::lock_guard lock(mutex);
        runs.reset();
    }
}

void Session::Impl::tellDropped()
{
    std::vector<SessionCommand> commands;
    {
        const std::lock_guard lock(mutex);
        commands.swap(dropped);
    }
    for (const SessionCommand& command : commands) {
        if (std::holds_alternative<OpenRequest>(command))
            emit(OpeningCancelled{});
        if (const auto* generate = std::get_if<GenerateCommand>(&command)) {
            GenerationSummary summary;
            summary.finish = FinishReason::Cancelled;
            emit(GenerationFinished{generate->generation, std::move(summary)});
        }
        if (const auto* experiment = std::get_if<ExperimentCommand>(&command))
            emitLab(experiment->experiment, ExperimentCancelled{});
    }
}

void Session::Impl::execute(const OpenRequest& request, const std::stop_token& stop)
{
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    auto told = begin;
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
        const auto now = Clock::now();
        if (now - told < std::chrono::milliseconds(50) && done != total)
            return;
        tellDropped(); // a message that was stopped meanwhile ends now, not after the opening
        told = now;
        const double elapsed = std::chrono::duration<double>(now - begin).count();
        const double left =
            done > 0 ? elapsed * static_cast<double>(total - done) / static_cast<double>(done)
                     : 0.0;
        emit(OpeningProgress{done, total, left});
    };
    const Phase before = publisher.state().phase;
    publisher.state().phase = Phase::Opening;
    publisher.publish(model ? &model->context->cache() : nullptr);
    try {
        // The old model stays until the new one is whole, so that a failure or a cancel loses
        // nothing.
        OpenModel opened = openModel(request, progress, stop);
        const std::uint64_t withBoth = readProcessMemory().resident;
        model.reset();
        // What was resident before opening, less what belonged to the model before.
        const std::uint64_t released = withBoth - std::min(withBoth, readProcessMemory().resident);
        opened.processBaseline -= std::min(opened.processBaseline, released);
        model.emplace(std::move(opened));
        publisher.setWeights(model->decoder->weightBytes(), model->processBaseline);
        publisher.state().prefillTokensPerSecond = 0.0;
        publisher.state().decodeTokensPerSecond = 0.0;
        {
            // Messages that were meant for the model before must not be answered by this one, nor
            // experiments run on it.
            const std::lock_guard lock(mutex);
            dropWaiting<GenerateCommand>();
            dropWaiting<ExperimentCommand>();
        }
        tellDropped();
        emit(ModelOpened{describe(*model)});
    } catch (const Stopped&) {
        publisher.state().phase = before;
        emit(OpeningCancelled{});
    } catch (...) {
        publisher.state().phase = before;
        emit(failedCommand(CommandFailed::Command::Open, 0));
    }
    publishIdle();
}

void Session::Impl::execute(const GenerateCommand& command, const std::stop_token& stop)
{
    try {
        if (!model)
            throw ArgumentError("no model is open");
        ChatRun run(
            *model, publisher, [this](SessionEvent event) { emit(std::move(event)); },
            [&](const ContextFullAsked& question) { return ask(question, stop); }, reservedBytes);
        run.run(command.generation, command.request, stop);
    } catch (const Stopped&) {
        GenerationSummary summary;
        summary.finish = FinishReason::Cancelled;
        emit(GenerationFinished{command.generation, std::move(summary)});
    } catch (...) {
        emit(failedCommand(CommandFailed::Command::Generate, command.generation));
    }
    publishIdle();
}

void Session::Impl::execute(const NewChatCommand&, const std::stop_token&)
{
    if (!model)
        return;
    model->context->reset();
    model->known = {};
    publishIdle();
}

std::optional<Session::ContextFullAnswer> Session::Impl::ask(const ContextFullAsked& question,
                                                             const std::stop_token& stop)
{
    emit(question);
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return answer.has_value() || stop.stop_requested(); });
    return stop.stop_requested() ? std::nullopt : std::exchange(answer, std::nullopt);
}

void Session::Impl::publishIdle()
{
    publisher.state().phase = model ? Phase::Idle : Phase::NoModel;
    publisher.publish(model ? &model->context->cache() : nullptr);
}

Session::Session(Callbacks callbacks)
    : m_impl(std::make_unique<Impl>(std::move(callbacks)))
{
}

Session::~Session() = default;

void Session::open(OpenRequest request)
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->giveUpExperiments();
    m_impl->queue.push_back(std::move(request));
    m_impl->changed.notify_all();
}

std::uint64_t Session::generate(ChatRequest request)
{
    const std::lock_guard lock(m_impl->mutex);
    const std::uint64_t generation = ++m_impl->lastGeneration;
    m_impl->queue.push_back(GenerateCommand{generation, std::move(request)});
    m_impl->changed.notify_all();
    return generation;
}

void Session::answerContextFull(ContextFullAnswer answer)
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->answer = answer;
    m_impl->changed.notify_all();
}

void Session::stopGenerating()
{
    m_impl->cancel<GenerateCommand>();
}

void Session::cancelOpening()
{
    m_impl->cancel<OpenRequest>();
}

void Session::newChat()
{
    m_impl->push(NewChatCommand{});
}

std::shared_ptr<const EngineSnapshot> Session::takeSnapshot()
{
    return m_impl->publisher.take();
}

} // namespace kvscope
