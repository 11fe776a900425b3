#include "engine/lab/latency_load.h"

#include "engine/kernels/bandwidth.h"
#include "engine/lab/latency_report.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/resource.h>

namespace kvscope {
namespace {

/// Nothing where the kernel keeps no such numbers.
std::optional<double> scheduledWaitSeconds()
{
    std::error_code error;
    double nanoseconds = 0.0;
    bool isKnown = false;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
        std::ifstream file(thread.path() / "schedstat"); // a thread may end meanwhile
        double ran = 0.0;
        double waited = 0.0;
        if (file >> ran >> waited) {
            nanoseconds += waited;
            isKnown = true;
        }
    }
    return isKnown ? std::optional(nanoseconds * 1e-9) : std::nullopt;
}

double waitedSeconds()
{
    if (const auto waited = scheduledWaitSeconds())
        return *waited;
    constexpr double kSliceSeconds = 0.004;
    struct rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_nivcsw) * kSliceSeconds;
}

} // namespace

LoadWatch::LoadWatch()
    : m_waited(waitedSeconds())
{
    m_start = std::chrono::steady_clock::now(); // reading took some 50 microseconds
}

double LoadWatch::seconds() const
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count();
}

double LoadWatch::waitShare(int threads) const
{
    const double available = seconds() * std::max(1, threads);
    if (available <= 0.0)
        return 0.0;
    return std::clamp((waitedSeconds() - m_waited) / available, 0.0, 1.0);
}

MeasuredBandwidth bandwidthOf(const std::function<TimedBandwidth()>& measure)
{
    constexpr int kMostTries = 3; // a passing disturbance is over by then
    MeasuredBandwidth best;
    for (int i = 0; i < kMostTries; ++i) {
        const TimedBandwidth one = measure();
        if (one.waitShare <= kDisturbedShare)
            return {one.bytesPerSecond, false};
        best = {std::max(best.bytesPerSecond, one.bytesPerSecond), true};
    }
    return best;
}

MeasuredBandwidth measureBandwidthAlone(std::uint64_t bytes)
{
    return bandwidthOf([bytes] {
        const LoadWatch watch;
        const double bytesPerSecond = measureReadBandwidth(bytes);
        return TimedBandwidth{bytesPerSecond, watch.waitShare(at::get_num_threads())};
    });
}

} // namespace kvscope
