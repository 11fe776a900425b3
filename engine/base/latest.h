#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace kvscope {

/// Hands the newest value of T from one thread to others; older ones are dropped.
///
/// `publish` and `take` may be called from any thread. The lock spans one pointer swap; values are
/// freed outside it.
template <typename T>
class Latest
{
public:
    /// Replaces the value. Returns true if the previous one had been taken (so a reader wants to be
    /// told), false if it was dropped unseen.
    bool publish(std::shared_ptr<const T> value)
    {
        std::unique_lock lock(m_mutex);
        std::swap(m_value, value);
        const bool wasTaken = std::exchange(m_isTaken, false);
        lock.unlock();
        return wasTaken;
    }

    /// The newest value, or null where none was published yet.
    std::shared_ptr<const T> take()
    {
        const std::lock_guard lock(m_mutex);
        m_isTaken = true;
        return m_value;
    }

private:
    std::mutex m_mutex;
    std::shared_ptr<const T> m_value;
    bool m_isTaken = true;
};

} // namespace kvscope
