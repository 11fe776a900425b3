#include "engine/lab/statistics.h"

#include "engine/base/errors.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace kvscope {
namespace {

void check(const Proportion& proportion)
{
    if (proportion.correct < 0 || proportion.correct > proportion.trials)
        throw ArgumentError(std::to_string(proportion.correct) + " right of " +
                            std::to_string(proportion.trials) + " trials cannot be.");
}

void checkSample(std::span<const double> values)
{
    if (values.empty())
        throw ArgumentError("There are no values to take a median of.");
    for (const double value : values)
        if (!std::isfinite(value))
            throw ArgumentError("A value is not a finite number.");
}

/// log of n over k.
double logChoose(std::int64_t n, std::int64_t k)
{
    const auto logFactorial = [](std::int64_t m) {
        return std::lgamma(static_cast<double>(m) + 1.0);
    };
    return logFactorial(n) - logFactorial(k) - logFactorial(n - k);
}

/// Sums the probabilities of all outcomes that are no likelier than `observed`.
/// \param logProbability  of an outcome, from `first` to `last`
template <typename LogProbability>
double noLikelier(std::int64_t first, std::int64_t last, std::int64_t observed,
                  LogProbability logProbability)
{
    // Outcomes as likely as the observed one differ from it by rounding alone.
    constexpr double kSlack = 1e-7;
    const double most = logProbability(observed) + kSlack;
    double sum = 0.0;
    for (std::int64_t outcome = first; outcome <= last; ++outcome) {
        const double candidate = logProbability(outcome);
        if (candidate <= most)
            sum += std::exp(candidate);
    }
    return std::min(sum, 1.0);
}

double quantile(const std::vector<double>& sorted, double share)
{
    const double position = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], position - std::floor(position));
}

double sortedMedian(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return quantile(values, 0.5);
}

/// The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22).
double betaFraction(double a, double b, double x)
{
    constexpr double kTiny = 1e-300;
    double c = 1.0;
    double d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (std::abs(d) < kTiny ? kTiny : d);
    double fraction = d;
    for (int m = 1; m <= 500; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double change = 1.0;
        for (const double term : {even, odd}) {
            d = 1.0 + term * d;
            c = 1.0 + term / c;
            d = 1.0 / (std::abs(d) < kTiny ? kTiny : d);
            c = std::abs(c) < kTiny ? kTiny : c;
            change = c * d;
            fraction *= change;
        }
        if (std::abs(change - 1.0) < 1e-15)
            break;
    }
    return fraction;
}

/// The regularised incomplete beta function I_x(a, b).
double incompleteBeta(double a, double b, double x)
{
    const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                  a * std::log(x) + b * std::log1p(-x));
    return x < (a + 1.0) / (a + b + 2.0) ? front * betaFraction(a, b, x) / a
                                         : 1.0 - front * betaFraction(b, a, 1.0 - x) / b;
}

/// P(|T| > t) of Student's t.
double studentTails(double t, double degrees)
{
    return incompleteBeta(degrees / 2.0, 0.5, degrees / (degrees + t * t));
}

} // namespace

Proportion pooled(std::span<const Proportion> parts)
{
    Proportion all;
    for (const Proportion& part : parts) {
        all.correct += part.correct;
        all.trials += part.trials;
    }
    return all;
}

Interval wilsonInterval(const Proportion& proportion, double z)
{
    check(proportion);
    if (proportion.trials == 0)
        return {0.0, 1.0};
    const auto n = static_cast<double>(proportion.trials);
    const double rate = proportion.rate();
    const double shrink = 1.0 / (1.0 + z * z / n);
    const double centre = shrink * (rate + z * z / (2.0 * n));
    const double half = shrink * z * std::sqrt(rate * (1.0 - rate) / n + z * z / (4.0 * n * n));
    // At the ends the exact bound is 0 or 1, which rounding misses.
    return {proportion.correct == 0 ? 0.0 : std::max(0.0, centre - half),
            proportion.correct == proportion.trials ? 1.0 : std::min(1.0, centre + half)};
}

double fisherExact(const Proportion& a, const Proportion& b)
{
    check(a);
    check(b);
    if (a.trials == 0 || b.trials == 0)
        return 1.0;
    const std::int64_t right = a.correct + b.correct;
    const double all = logChoose(a.trials + b.trials, right);
    return noLikelier(std::max<std::int64_t>(0, right - b.trials), std::min(right, a.trials),
                      a.correct, [&](std::int64_t correct) {
                          return logChoose(a.trials, correct) +
                                 logChoose(b.trials, right - correct) - all;
                      });
}

double binomialExact(const Proportion& proportion, double chance)
{
    check(proportion);
    if (!(chance >= 0.0 && chance <= 1.0))
        throw ArgumentError("The chance of a trial must be between 0 and 1.");
    if (proportion.trials == 0)
        return 1.0;
    const std::int64_t n = proportion.trials;
    if (chance == 0.0 || chance == 1.0) // one outcome alone is possible
        return proportion.correct == (chance == 0.0 ? 0 : n) ? 1.0 : 0.0;
    return noLikelier(0, n, proportion.correct, [&](std::int64_t correct) {
        return logChoose(n, correct) + static_cast<double>(correct) * std::log(chance) +
               static_cast<double>(n - correct) * std::log1p(-chance);
    });
}

std::int64_t fewestTrialsToPass(double threshold, double z)
{
    if (!(threshold >= 0.0 && threshold < 1.0))
        throw ArgumentError("A threshold must be at least 0 and below 1.");
    // With every trial right the lower bound is n / (n + z^2).
    const double exact = threshold * z * z / (1.0 - threshold);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(exact)));
}

MedianEstimate medianEstimate(std::span<const double> values)
{
    checkSample(values);
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    MedianEstimate estimate{.count = std::ssize(values),
                            .median = quantile(sorted, 0.5),
                            .firstQuartile = quantile(sorted, 0.25),
                            .thirdQuartile = quantile(sorted, 0.75)};
    for (double& value : sorted)
        value = std::abs(value - estimate.median);
    estimate.medianDeviation = sortedMedian(std::move(sorted));
    return estimate;
}

double studentT95(std::int64_t degreesOfFreedom)
{
    const auto degrees = static_cast<double>(degreesOfFreedom);
    double low = 1.9; // below the normal's point, above that of one degree
    double high = 13.0;
    while (high - low > 1e-12) {
        const double middle = (low + high) / 2.0;
        (studentTails(middle, degrees) > 0.05 ? low : high) = middle;
    }
    return (low + high) / 2.0;
}

} // namespace kvscope
