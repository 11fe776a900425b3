#include "engine/lab/sample_mean.h"

#include <array>
#include <cmath>
#include <numeric>

namespace kvscope {

double studentPoint95(std::int64_t degreesOfFreedom)
{
    // The first four from a table; from five on the expansion about the normal is right to 0.003.
    // Source: Abramowitz and Stegun, table 26.10 and formula 26.7.5.
    constexpr std::array<double, 4> kFirst = {12.706, 4.303, 3.182, 2.776};
    if (degreesOfFreedom <= static_cast<std::int64_t>(kFirst.size()))
        return kFirst[static_cast<std::size_t>(degreesOfFreedom - 1)];
    constexpr double z = 1.959963984540054;
    const double n = static_cast<double>(degreesOfFreedom);
    const double z2 = z * z;
    const double g1 = z * (z2 + 1.0) / 4.0;
    const double g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    const double g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    return z + g1 / n + g2 / (n * n) + g3 / (n * n * n);
}

SampleMean sampleMean(std::span<const double> values)
{
    SampleMean result;
    result.count = std::ssize(values);
    if (values.empty())
        return result;
    const auto count = static_cast<double>(result.count);
    result.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double squares = 0.0;
    for (const double value : values)
        squares += (value - result.mean) * (value - result.mean);
    double reach = 0.0;
    if (values.size() > 1) {
        result.standardError = std::sqrt(squares / (count - 1.0) / count);
        reach = studentPoint95(result.count - 1) * result.standardError;
    }
    result.low = result.mean - reach;
    result.high = result.mean + reach;
    return result;
}

} // namespace kvscope
