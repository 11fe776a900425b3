#include "engine/lab/sample_mean.h"

#include "engine/lab/statistics.h"

#include <cmath>
#include <numeric>

namespace kvscope {

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
        reach = studentT95(result.count - 1) * result.standardError;
    }
    result.low = result.mean - reach;
    result.high = result.mean + reach;
    return result;
}

} // namespace kvscope
