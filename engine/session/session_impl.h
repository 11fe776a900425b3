#pragma once

#include "engine/session/lab_event.h"
#include "engine/session/open_model.h"
#include "engine/session/session.h"
#include "engine/session/snapshot_publisher.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace kvscope {

struct GenerateCommand
{
    std::uint64_t generation = 0;
    ChatRequest request;
};
struct NewChatCommand
{
};
struct PlanCommand
{
    std::uint64_t experiment = 0;
    ExperimentRequest request;
};
struct PromptCommand
{
    std::uint64_t id = 0;
    SweepRequest request;
    SweepTrial trial;
};
struct ExperimentCommand
{
    std::uint64_t experiment = 0;
    ExperimentRequest request;
};
using SessionCommand = std::variant<OpenRequest, GenerateCommand, NewChatCommand, PlanCommand,
                                    PromptCommand, ExperimentCommand>;

/// A kind's place in SessionCommand.
template <typename Kind>
inline const std::size_t kindOf = SessionCommand(Kind{}).index();

/// The engine thread's state and loop. Commands run one after another, but that between the parts
/// of an experiment chats and plans get their turn: session_experiments.cpp.
struct Session::Impl
{
    explicit Impl(Callbacks given);
    ~Impl();

    void push(SessionCommand command);
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
        std::erase_if(queue, [this](SessionCommand& waiting) {
            if (!std::holds_alternative<Kind>(waiting))
                return false;
            dropped.push_back(std::move(waiting));
            return true;
        });
    }
    /// With the mutex held: experiments that wait are dropped, the one that runs is stopped.
    void giveUpExperiments();

    void loop(const std::stop_token& quit);
    /// With the mutex held: makes it the one that runs. \returns its stop token
    std::stop_token begin(const SessionCommand& command);
    void run(const SessionCommand& command, const std::stop_token& stop);
    void execute(const OpenRequest& request, const std::stop_token& stop);
    void execute(const GenerateCommand& command, const std::stop_token& stop);
    void execute(const NewChatCommand& command, const std::stop_token& stop);
    void execute(const PlanCommand& command, const std::stop_token& stop);
    void execute(const PromptCommand& command, const std::stop_token& stop);
    void execute(const ExperimentCommand& command, const std::stop_token& stop);
    std::optional<ContextFullAnswer> ask(const ContextFullAsked& question,
                                         const std::stop_token& stop);
    void tellDropped();
    void emit(SessionEvent event)
    {
        if (callbacks.event)
            callbacks.event(std::move(event));
    }
    void emitLab(std::uint64_t experiment, LabNews what)
    {
        emit(LabEvent{experiment, std::move(what)});
    }
    void publishIdle();

    // Between two parts of an experiment.
    void betweenParts(std::uint64_t experiment, std::uint64_t reserved);
    void waitForRecord(std::uint64_t experiment, const std::string& message,
                       std::uint64_t reserved);
    /// Runs chats and plans that wait; true where it answered a chat, and so told ExperimentPaused
    /// and ExperimentResumed. \pre the engine thread, no mutex held
    bool serveWaiting(std::uint64_t experiment);
    /// With the mutex held: the first command that may run now; behind an opening none may.
    std::optional<SessionCommand> takeServable();
    bool hasServable() const;
    /// Tells `pause` where it waits, and again behind every chat it answers. \throws Stopped
    void waitWhilePaused(std::uint64_t experiment, const ExperimentPaused& pause);

    Callbacks callbacks;
    SnapshotPublisher publisher;
    std::optional<OpenModel> model;  ///< the engine thread's own
    std::uint64_t reservedBytes = 0; ///< for the experiment that waits while a chat runs

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<SessionCommand> queue;
    std::stop_source current; ///< of the command that runs, but for experiments
    std::optional<ContextFullAnswer> answer;
    std::vector<SessionCommand> dropped; ///< before they began; not told of yet
    std::optional<std::size_t> runs;     ///< kind of the command that runs
    std::uint64_t lastGeneration = 0;
    std::uint64_t lastExperiment = 0;
    std::uint64_t runningExperiment = 0; ///< 0: none
    std::stop_source experimentStop;     ///< of the experiment that runs
    bool isPaused = false;               ///< the experiment that runs, or the next one that waits

    std::jthread thread; ///< last: it uses everything above
};

} // namespace kvscope
