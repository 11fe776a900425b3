#pragma once

#include "engine/session/session.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace kvscope {

/// Collects a session's events in order, for tests of experiments. A reaction runs on the engine
/// thread as an event is told, so that "pause after the first chunk" happens at that very chunk.
/// Must outlive the session.
class LabLog
{
public:
    using Reaction = std::function<void(const SessionEvent&)>;

    Session::Callbacks callbacks()
    {
        Session::Callbacks callbacks;
        callbacks.event = [this](const SessionEvent& event) {
            Reaction reaction;
            {
                const std::lock_guard lock(m_mutex);
                m_events.push_back(event);
                reaction = m_reaction;
            }
            if (reaction)
                reaction(event);
            m_changed.notify_all();
        };
        return callbacks;
    }
    /// Once, as the first news of this kind is told.
    template <typename News>
    void onFirst(std::function<void()> act)
    {
        const std::lock_guard lock(m_mutex);
        // Shared, since the reaction is copied for every event.
        m_reaction = [act = std::move(act),
                      hasActed = std::make_shared<bool>(false)](const SessionEvent& event) {
            if (!*hasActed && newsOf<News>(event) != nullptr) {
                *hasActed = true;
                act();
            }
        };
    }

    /// The news in an event, or the event itself; null where it is another.
    template <typename News>
    static const News* newsOf(const SessionEvent& event)
    {
        const News* found = nullptr;
        const auto look = [&found](const auto& one) {
            if constexpr (std::is_same_v<std::decay_t<decltype(one)>, News>)
                found = &one;
        };
        std::visit(look, event);
        if (const auto* lab = std::get_if<LabEvent>(&event))
            std::visit(look, lab->what);
        return found;
    }

    /// The newest news of this kind, waiting for the first; nothing after a minute.
    template <typename News>
    std::optional<News> waitFor(int atLeast = 1)
    {
        std::unique_lock lock(m_mutex);
        std::optional<News> found;
        m_changed.wait_for(lock, std::chrono::minutes(1), [&] {
            int number = 0;
            for (const SessionEvent& event : m_events)
                if (const News* news = newsOf<News>(event)) {
                    found = *news;
                    ++number;
                }
            return number >= atLeast;
        });
        return found;
    }
    template <typename News>
    std::vector<News> all() const
    {
        const std::lock_guard lock(m_mutex);
        std::vector<News> found;
        for (const SessionEvent& event : m_events)
            if (const News* news = newsOf<News>(event))
                found.push_back(*news);
        return found;
    }
    /// Where the first of this kind stands among all events; -1: there is none.
    template <typename News>
    std::ptrdiff_t placeOf() const
    {
        const std::lock_guard lock(m_mutex);
        for (std::size_t i = 0; i < m_events.size(); ++i)
            if (newsOf<News>(m_events[i]) != nullptr)
                return static_cast<std::ptrdiff_t>(i);
        return -1;
    }
    void clear()
    {
        const std::lock_guard lock(m_mutex);
        m_events.clear();
        m_reaction = {};
    }

private:
    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    std::vector<SessionEvent> m_events;
    Reaction m_reaction;
};

} // namespace kvscope
