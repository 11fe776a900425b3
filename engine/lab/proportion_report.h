#pragma once

#include <cstdint>

namespace kvscope {

struct Interval
{
    double low = 0.0;
    double high = 0.0;

    bool contains(double value) const { return low <= value && value <= high; }
};

/// So many of so many trials came out right.
struct Proportion
{
    std::int64_t correct = 0;
    std::int64_t trials = 0;

    /// correct / trials; 0 without trials.
    double rate() const
    {
        return trials > 0 ? static_cast<double>(correct) / static_cast<double>(trials) : 0.0;
    }
    bool operator==(const Proportion&) const = default;
};

} // namespace kvscope
