#include "engine/lab/fits.h"

#include "engine/base/errors.h"

#include <cmath>

namespace kvscope {
namespace {

void checkRuns(std::span<const PrefillTiming> runs)
{
    if (runs.empty())
        throw ArgumentError("There are no timed prefills to fit a throughput to.");
    for (const PrefillTiming& run : runs)
        for (const double value : {run.denseFlops, run.attentionFlops, run.seconds})
            if (!std::isfinite(value) || value <= 0.0)
                throw ArgumentError("A timed prefill has FLOPs or seconds that are not positive.");
}

double mean(std::span<const double> values)
{
    double sum = 0.0;
    for (const double value : values)
        sum += value;
    return sum / static_cast<double>(values.size());
}

void checkPoints(std::span<const double> x, std::span<const double> y)
{
    if (x.size() != y.size() || x.size() < 2)
        throw ArgumentError("A line needs at least two points, each with an x and a y.");
    for (const auto values : {x, y})
        for (const double value : values)
            if (!std::isfinite(value))
                throw ArgumentError("A point of the line is not a finite number.");
}

/// Sums over the runs, each run scaled to one second: the normal equations of relative errors.
struct NormalEquations
{
    double denseDense = 0.0;
    double denseAttention = 0.0;
    double attentionAttention = 0.0;
    double dense = 0.0;
    double attention = 0.0;
};

NormalEquations normalEquations(std::span<const PrefillTiming> runs)
{
    NormalEquations sums;
    for (const PrefillTiming& run : runs) {
        const double dense = run.denseFlops / run.seconds;
        const double attention = run.attentionFlops / run.seconds;
        sums.denseDense += dense * dense;
        sums.denseAttention += dense * attention;
        sums.attentionAttention += attention * attention;
        sums.dense += dense;
        sums.attention += attention;
    }
    return sums;
}

} // namespace

LineFit fitLine(std::span<const double> x, std::span<const double> y)
{
    checkPoints(x, y);
    const double meanX = mean(x);
    const double meanY = mean(y);
    double xx = 0.0;
    double xy = 0.0;
    double yy = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - meanX) * (x[i] - meanX);
        xy += (x[i] - meanX) * (y[i] - meanY);
        yy += (y[i] - meanY) * (y[i] - meanY);
    }
    if (xx == 0.0)
        throw ArgumentError("A line needs two different x.");
    const double slope = xy / xx;
    return {.intercept = meanY - slope * meanX,
            .slope = slope,
            .explained = yy > 0.0 ? xy * xy / (xx * yy) : 1.0};
}

ThroughputFit fitThroughputs(std::span<const PrefillTiming> runs)
{
    checkRuns(runs);
    const NormalEquations sums = normalEquations(runs);
    const double determinant =
        sums.denseDense * sums.attentionAttention - sums.denseAttention * sums.denseAttention;
    // Runs of one length, or of a model whose attention is linear, are multiples of each other.
    if (determinant <= 1e-9 * sums.denseDense * sums.attentionAttention)
        return fitSingleThroughput(runs);
    const double secondsPerDense =
        (sums.dense * sums.attentionAttention - sums.attention * sums.denseAttention) / determinant;
    const double secondsPerAttention =
        (sums.attention * sums.denseDense - sums.dense * sums.denseAttention) / determinant;
    if (secondsPerDense <= 0.0 || secondsPerAttention <= 0.0)
        return fitSingleThroughput(runs);
    return {.densePerSecond = 1.0 / secondsPerDense,
            .attentionPerSecond = 1.0 / secondsPerAttention,
            .separates = true};
}

ThroughputFit fitSingleThroughput(std::span<const PrefillTiming> runs)
{
    checkRuns(runs);
    double sum = 0.0;
    double squares = 0.0;
    for (const PrefillTiming& run : runs) {
        const double rate = (run.denseFlops + run.attentionFlops) / run.seconds;
        sum += rate;
        squares += rate * rate;
    }
    const double perSecond = squares / sum; // the least relative error of seconds
    return {.densePerSecond = perSecond, .attentionPerSecond = perSecond};
}

} // namespace kvscope
