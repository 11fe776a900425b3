#pragma once

#include "engine/base/latest.h"
#include "engine/session/engine_snapshot.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

namespace kvscope {

/// Fills EngineSnapshots on the engine thread and hands them over, at most 120 times a second.
class SnapshotPublisher
{
public:
    /// \param ready  told when a new snapshot waits that the reader has not been told of yet
    explicit SnapshotPublisher(std::function<void()> ready);

    /// What the next snapshot shows; the caller sets phase, prefill and generation.
    EngineSnapshot& state() { return m_state; }
    void setWeights(std::uint64_t weightBytes, std::uint64_t processBaseline);
    /// A decode step ended now.
    void countDecodeStep();
    void clearDecodeRate() { m_steps.clear(); }

    /// True when enough time has passed for another snapshot, so that the caller may save making
    /// one.
    bool isDue() const;
    /// Publishes the state with this cache and a fresh memory reading.
    void publish(CacheSnapshot cache);
    std::shared_ptr<const EngineSnapshot> take() { return m_latest.take(); }

private:
    using Clock = std::chrono::steady_clock;

    std::function<void()> m_ready;
    Latest<EngineSnapshot> m_latest;
    EngineSnapshot m_state;
    Clock::time_point m_begin = Clock::now();
    Clock::time_point m_published;
    Clock::time_point m_freeRead;
    std::deque<Clock::time_point> m_steps; ///< decode steps of the last second
    std::size_t m_growthsSeen = 0;
};

} // namespace kvscope
