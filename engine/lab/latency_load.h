#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace kvscope {

/// Whether other load took processors away from a piece of work.
///
/// Reads how long this process's threads were ready to run but not running: the second number of
/// /proc/self/task/*/schedstat, in nanoseconds. That is what other load costs, and unlike the load
/// average it is this process's and of this moment; unlike processor time over wall time it does
/// not depend on how well the work spreads over its threads. Where the kernel does not keep it,
/// every involuntary context switch (getrusage) counts 4 ms, about a scheduler's time slice.
/// Source: Linux Documentation/scheduler/sched-stats.rst.
class LoadWatch
{
public:
    /// Starts now.
    LoadWatch();
    double seconds() const; ///< since the start
    /// Waiting since the start over seconds() times `threads`: 0 to 1.
    double waitShare(int threads) const;

private:
    std::chrono::steady_clock::time_point m_start;
    double m_waited;
};

/// One reading of the memory's bandwidth.
struct TimedBandwidth
{
    double bytesPerSecond = 0.0;
    double waitShare = 0.0; ///< as TimedRun's
};

/// Memory reads of this moment.
struct MeasuredBandwidth
{
    double bytesPerSecond = 0.0; ///< 0: not measured
    bool isDisturbed = false;    ///< other load took processors away each time it was tried
};

/// measureReadBandwidth(), again (three times in all) while other load disturbs it; then the best.
MeasuredBandwidth measureBandwidthAlone(std::uint64_t bytes);
/// The first undisturbed reading, else the fastest, marked. \param measure  one reading
MeasuredBandwidth bandwidthOf(const std::function<TimedBandwidth()>& measure);

} // namespace kvscope
