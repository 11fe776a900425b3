#pragma once

#include "engine/session/open_model.h"
#include "engine/session/session.h"
#include "engine/session/session_event.h"
#include "engine/session/snapshot_publisher.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

namespace kvscope {

/// One answer of the model, on the engine thread: fits the chat to the context limit, reuses what
/// the cache already holds, generates, and tells the events.
class ChatRun
{
public:
    using Emit = std::function<void(SessionEvent)>;
    /// Waits for the person's answer to ContextFullAsked; nothing where the run was cancelled
    /// meanwhile.
    using AskContextFull =
        std::function<std::optional<Session::ContextFullAnswer>(const ContextFullAsked&)>;

    /// \param reservedBytes  of memory that are to be left to an experiment that waits meanwhile
    ChatRun(OpenModel& model, SnapshotPublisher& publisher, Emit emit, AskContextFull ask,
            std::uint64_t reservedBytes = 0)
        : m_model(model)
        , m_publisher(publisher)
        , m_emit(std::move(emit))
        , m_ask(std::move(ask))
        , m_reservedBytes(reservedBytes)
    {
    }

    /// \throws EngineError; the model's context stays usable
    void run(std::uint64_t generation, const ChatRequest& request, const std::stop_token& stop);

private:
    /// The prompt of the messages that fit; nothing where the person gave the run up.
    std::optional<TokenizedText> fitted(const ChatRequest& request);
    std::int64_t roomLimit(const ChatRequest& request) const;
    void tellBeyond(std::int64_t length, std::int64_t positions);
    void requireRoom(std::int64_t tokens) const;
    void announce(const TokenizedText& prompt, std::int64_t dropped);
    GenerationObserver observer();
    void publish(Phase phase);

    OpenModel& m_model;
    SnapshotPublisher& m_publisher;
    Emit m_emit;
    AskContextFull m_ask;
    std::uint64_t m_reservedBytes;
    std::uint64_t m_generation = 0;
    std::int64_t m_dropped = 0;
    bool m_isBeyondLimit = false; ///< the last message alone is longer than the context limit
};

} // namespace kvscope
