#include "engine/session/session.h"

#include "engine/base/errors.h"
#include "engine/session/chat_run.h"
#include "engine/session/open_model.h"
#include "engine/session/snapshot_publisher.h"

#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <variant>

namespace kvscope {
namespace {

struct GenerateCommand
{
    std::uint64_t generation = 0;
    ChatRequest request;
};
struct NewChatCommand
{
};
using Command = std::variant<OpenRequest, GenerateCommand, NewChatCommand>;

/// A kind's place in Command.
template <typename Kind>
inline const std::size_t kindOf = Command(Kind{}).index();

/// How an exception reads to a person; called inside a catch block. The one place where they end.
CommandFailed failureFromCurrentException(CommandFailed::Command command, std::uint64_t generation)
{
    CommandFailed failure{command, {}, {}, generation};
    try {
        throw;
    } catch (const EngineError& error) {
        failure.message = error.what();
        failure.detail = error.detail();
    } catch (const c10::OutOfMemoryError& error) {
        failure.message =
            "The device is out of memory; a shorter context or a smaller cache type needs less.";
        failure.detail = error.what_without_backtrace();
    } catch (const c10::Error& error) {
        failure.message = std::string("LibTorch refused an operation: ") + error.msg();
        failure.message = failure.message.substr(0, failure.message.find('\n'));
        failure.detail = error.what_without_backtrace();
    } catch (const std::bad_alloc&) {
        failure.message = "This machine is out of memory.";
    } catch (const std::exception& error) {
        failure.message = error.what();
    }
    return failure;
}

} // namespace

struct Session::Impl
{
    explicit Impl(Callbacks given)
        : callbacks(std::move(given))
        , publisher(callbacks.snapshotReady)
        , thread([this](const std::stop_token& quit) { loop(quit); })
    {
    }
    ~Impl()
    {
        thread.request_stop();
        const std::lock_guard lock(mutex);
        queue.clear();
        current.request_stop();
        changed.notify_all();
    }

    void push(Command command)
    {
        const std::lock_guard lock(mutex);
        queue.push_back(std::move(command));
        changed.notify_all();
    }

    /// Drops the commands of one kind that wait, to be told of by the engine thread, and stops the
    /// one that runs if it is of that kind.
    template <typename Kind>
    void cancel()
    {
        const std::lock_guard lock(mutex);
        dropWaiting<Kind>();
        if (runs == kindOf<Kind>)
            current.request_stop();
        changed.notify_all();
    }
    /// With the mutex held.
    template <typename Kind>
    void dropWaiting()
    {
        std::erase_if(queue, [this](Command& waiting) {
            if (!std::holds_alternative<Kind>(waiting))
                return false;
            dropped.push_back(std::move(waiting));
            return true;
        });
    }

    void loop(const std::stop_token& quit);
    void execute(const OpenRequest& request, const std::stop_token& stop);
    void execute(const GenerateCommand& command, const std::stop_token& stop);
    void execute(const NewChatCommand& command, const std::stop_token& stop);
    std::optional<ContextFullAnswer> ask(const ContextFullAsked& question,
                                         const std::stop_token& stop);
    void tellDropped();
    void emit(SessionEvent event)
    {
        if (callbacks.event)
            callbacks.event(std::move(event));
    }
    void publishIdle();

    Callbacks callbacks;
    SnapshotPublisher publisher;
    std::optional<OpenModel> model; ///< the engine thread's own

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Command> queue;
    std::stop_source current; ///< of the command that runs
    std::optional<ContextFullAnswer> answer;
    std::vector<Command> dropped;    ///< before they began; not told of yet
    std::optional<std::size_t> runs; ///< kind of the command that runs
    std::uint64_t lastGeneration = 0;

    std::jthread thread; ///< last: it uses everything above
};

void Session::Impl::loop(const std::stop_token& quit)
{
    const c10::InferenceMode inference;
    // A little behind the window, so that with as many threads as cores a repaint still comes at
    // once. Worker threads of the pool inherit it, as they are made from here.
    ::setpriority(PRIO_PROCESS, 0, 5);
    while (!quit.stop_requested()) {
        std::optional<Command> command;
        std::stop_token stop;
        {
            std::unique_lock lock(mutex);
            changed.wait(
                lock, [&] { return !queue.empty() || quit.stop_requested() || !dropped.empty(); });
            if (!queue.empty()) {
                command = std::move(queue.front());
                queue.pop_front();
                current = std::stop_source();
                stop = current.get_token();
                answer.reset();
                runs = command->index();
            }
        }
        tellDropped();
        if (!command)
            continue;
        std::visit([&](const auto& one) { execute(one, stop); }, *command);
        const std::lock_guard lock(mutex);
        runs.reset();
    }
}

void Session::Impl::tellDropped()
{
    std::vector<Command> commands;
    {
        const std::lock_guard lock(mutex);
        commands.swap(dropped);
    }
    for (const Command& command : commands) {
        if (std::holds_alternative<OpenRequest>(command))
            emit(OpeningCancelled{});
        if (const auto* generate = std::get_if<GenerateCommand>(&command)) {
            GenerationSummary summary;
            summary.finish = FinishReason::Cancelled;
            emit(GenerationFinished{generate->generation, std::move(summary)});
        }
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
        told = now;
        const double elapsed = std::chrono::duration<double>(now - begin).count();
        const double left =
            done > 0 ? elapsed * static_cast<double>(total - done) / static_cast<double>(done)
                     : 0.0;
        emit(OpeningProgress{done, total, left});
    };
    const Phase before = publisher.state().phase;
    publisher.state().phase = Phase::Opening;
    publisher.publish(model ? model->context->cache().snapshot() : CacheSnapshot{});
    try {
        // The old model stays until the new one is whole, so that a failure or a cancel loses
        // nothing.
        OpenModel opened = openModel(request, progress, stop);
        model.reset();
        model.emplace(std::move(opened));
        publisher.setWeights(model->decoder->weightBytes(), model->processBaseline);
        publisher.state().prefillTokensPerSecond = 0.0;
        publisher.state().decodeTokensPerSecond = 0.0;
        {
            // Messages that were meant for the model before must not be answered by this one.
            const std::lock_guard lock(mutex);
            dropWaiting<GenerateCommand>();
        }
        tellDropped();
        emit(ModelOpened{describe(*model)});
    } catch (const Stopped&) {
        publisher.state().phase = before;
        emit(OpeningCancelled{});
    } catch (...) {
        publisher.state().phase = before;
        emit(failureFromCurrentException(CommandFailed::Command::Open, 0));
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
            [&](const ContextFullAsked& question) { return ask(question, stop); });
        run.run(command.generation, command.request, stop);
    } catch (const Stopped&) {
        GenerationSummary summary;
        summary.finish = FinishReason::Cancelled;
        emit(GenerationFinished{command.generation, std::move(summary)});
    } catch (...) {
        emit(failureFromCurrentException(CommandFailed::Command::Generate, command.generation));
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
    publisher.publish(model ? model->context->cache().snapshot() : CacheSnapshot{});
}

Session::Session(Callbacks callbacks)
    : m_impl(std::make_unique<Impl>(std::move(callbacks)))
{
}

Session::~Session() = default;

void Session::open(OpenRequest request)
{
    m_impl->push(std::move(request));
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
