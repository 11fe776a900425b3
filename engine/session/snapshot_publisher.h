#pragma once

#include "engine/base/latest.h"
#include "engine/cache/mixed_kv_cache.h"
#include "engine/session/engine_snapshot.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
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
    /// Publishes the state with this cache, or none, and a fresh memory reading.
    void publish(const MixedKVCache* cache);
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
    /// By cache, since a chat's and an experiment's are shown in turns. One that is gone leaves its
    /// entry: the next at its address has grown less often, or has grown.
    std::map<const MixedKVCache*, std::size_t> m_growthsSeen;
};

} // namespace kvscope
