#pragma once

#include "engine/cache/mixed_kv_cache.h"
#include "engine/lab/run_record.h"
#include "engine/session/lab_event.h"
#include "engine/session/open_model.h"
#include "engine/session/snapshot_publisher.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace kvscope {

/// What the session gives an experiment that it runs.
struct ExperimentHooks
{
    std::function<void(LabNews)> emit;
    /// Answers waiting chat messages, and waits while the experiment is paused.
    /// \param reservedBytes  that the experiment's cache is still going to take
    /// \throws Stopped where the experiment is given up
    std::function<void(std::uint64_t reservedBytes)> between;
    /// Pauses for a record that cannot be written, until resumed. \throws Stopped
    std::function<void(const std::string& message, std::uint64_t reservedBytes)> waitForRecord;
};

/// What every experiment does alike while it runs on the engine thread: tells its progress, keeps
/// its record, shows its cache, and lets others have the thread between its parts.
class ExperimentContext
{
public:
    ExperimentContext(OpenModel& model, SnapshotPublisher& publisher, ExperimentHooks hooks,
                      const ExperimentRequest& request, std::stop_token stop);

    OpenModel& model() { return m_model; }
    const ExperimentRequest& request() const { return m_request; }
    const std::stop_token& stop() const { return m_stop; }

    void emit(LabNews what) { m_hooks.emit(std::move(what)); }
    /// Tells ExperimentStarted. \param settings  all that decides the trials; none: no record
    /// \param decoder  the (first) one that runs
    /// \throws ArgumentError where the record is of another run, naming what differs
    void begin(const Decoder& decoder, const std::optional<RecordJson>& settings);
    /// Tells the progress, ten times a second at most, and at the end.
    void tell(double share, double secondsLeft, const std::string& what);
    /// Tells it however short ago the last was: what follows may take long.
    void tellNow(double share, double secondsLeft, const std::string& what);
    /// Between two parts. \throws Stopped where the experiment is given up
    void between();
    /// The cache that grows is shown instead of the chat's.
    void showCache(const MixedKVCache& cache);
    /// Bytes of cache that the experiment is going to take in all: a chat in between leaves them.
    void planCache(std::uint64_t bytes) { m_plannedBytes = bytes; }

    /// Null where the run is not recorded.
    const RunRecord* record() const { return m_record ? &*m_record : nullptr; }
    /// Writes a line. Where it cannot be written the experiment pauses until it can, so nothing is
    /// lost. \throws Stopped where it is given up meanwhile
    void append(std::string_view kind, const RecordJson& fields);
    void finishRecord(const RecordJson& fields);

    /// Since the start, without pauses and chats.
    double secondsGone() const;
    /// Of pauses and chats since the start: to be taken off what others timed.
    double secondsAway() const { return m_away; }

private:
    using Clock = std::chrono::steady_clock;

    std::uint64_t reservedBytes() const;
    void away(const std::function<void()>& wait);
    void write(const std::function<void(RunRecord&)>& line);

    OpenModel& m_model;
    SnapshotPublisher& m_publisher;
    ExperimentHooks m_hooks;
    const ExperimentRequest& m_request;
    std::stop_token m_stop;
    std::optional<RunRecord> m_record;
    std::uint64_t m_plannedBytes = 0;
    std::uint64_t m_cacheBytes = 0; ///< allocated, of the cache shown last
    Clock::time_point m_start = Clock::now();
    Clock::time_point m_told;
    double m_share = 0.0; ///< told last: estimates change, but no bar runs backwards
    double m_away = 0.0;
};

} // namespace kvscope
