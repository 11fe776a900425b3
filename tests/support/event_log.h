#pragma once

#include "engine/session/session.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace kvscope {

/// Collects a session's events for a test, which may wait for one of a kind. Must outlive the
/// session.
class EventLog
{
public:
    Session::Callbacks callbacks()
    {
        Session::Callbacks callbacks;
        callbacks.event = [this](SessionEvent event) {
            const std::lock_guard lock(m_mutex);
            m_events.push_back(std::move(event));
            m_changed.notify_all();
        };
        callbacks.snapshotReady = [this] { ++m_snapshotsReady; };
        return callbacks;
    }

    /// How often the session said that a snapshot waits.
    int snapshotsReady() const { return m_snapshotsReady; }

    /// The next event of this kind that was not waited for yet; nothing after a minute.
    template <typename Event>
    std::optional<Event> waitFor()
    {
        std::unique_lock lock(m_mutex);
        std::optional<Event> found;
        m_changed.wait_for(lock, std::chrono::minutes(1), [&] {
            for (; m_read < m_events.size(); ++m_read)
                if (const auto* event = std::get_if<Event>(&m_events[m_read])) {
                    found = *event;
                    ++m_read;
                    return true;
                }
            return false;
        });
        return found;
    }

    template <typename Event>
    int count() const
    {
        const std::lock_guard lock(m_mutex);
        int number = 0;
        for (const SessionEvent& event : m_events)
            number += std::holds_alternative<Event>(event) ? 1 : 0;
        return number;
    }

    template <typename Event>
    std::optional<Event> last() const
    {
        const std::lock_guard lock(m_mutex);
        for (auto event = m_events.rbegin(); event != m_events.rend(); ++event)
            if (const auto* found = std::get_if<Event>(&*event))
                return *found;
        return std::nullopt;
    }

    void clear()
    {
        const std::lock_guard lock(m_mutex);
        m_events.clear();
        m_read = 0;
    }

private:
    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    std::vector<SessionEvent> m_events;
    std::size_t m_read = 0;
    std::atomic<int> m_snapshotsReady = 0;
};

} // namespace kvscope
