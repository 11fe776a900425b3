#pragma once

#include "engine/checkpoint/model_config.h"
#include "engine/lab/fits.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvscope {

/// How long prefills of one model take, learned from those that were timed: the fit of
/// fitThroughputs() over the newest of them.
class TimedPrefills
{
public:
    /// A prefill of an empty cache. Times of zero, as of nothing run, are not taken.
    void add(const ModelConfig& config, std::int64_t tokens, double seconds);
    bool isEmpty() const { return m_timings.empty(); }
    /// Of a prefill of `tokens`, in one or in chunks; nothing while none was timed.
    std::optional<double> seconds(const ModelConfig& config, std::int64_t tokens) const;
    /// By one throughput for all FLOPs; 0 while none was timed.
    double secondsPerFlop() const;
    /// Peak of what was reached, FLOPs a second; 0 while none was timed.
    double flopsPerSecond() const;
    /// "by 6 timed prefills"
    std::string basis() const;

private:
    std::vector<PrefillTiming> m_timings; ///< the newest, oldest first
};

} // namespace kvscope
