#pragma once

#include <cstdint>

namespace kvscope {

/// A sample's mean and the 95 % interval of the mean it was drawn from, by Student's t.
/// Neighbouring positions of a text are not independent, so the interval of their nll is a little
/// too narrow.
struct SampleMean
{
    std::int64_t count = 0;
    double mean = 0.0;
    double standardError = 0.0; ///< 0 below two values
    double low = 0.0;           ///< the mean itself where there is no interval
    double high = 0.0;

    /// One value says nothing of how far others lie from it.
    bool hasInterval() const { return count > 1; }

    bool operator==(const SampleMean&) const = default;
};

} // namespace kvscope
