#pragma once

#include "engine/lab/proportion_report.h"

#include <cstdint>
#include <span>

// What the lab says about counts and samples. Intervals are 95 % and two-sided unless told
// otherwise.

namespace kvscope {

/// The standard normal's 97.5 % point.
inline constexpr double kNormal95 = 1.959963984540054;

/// All trials together: cells of one depth, one length, or the ends.
Proportion pooled(std::span<const Proportion> parts);

/// Wilson's score interval, within [0, 1]; [0, 1] without trials. 12 of 12 is [0.758, 1].
/// Source: E. B. Wilson, JASA 22 (1927).
/// \throws ArgumentError unless 0 <= correct <= trials
Interval wilsonInterval(const Proportion& proportion, double z = kNormal95);

/// Fisher's exact test of two proportions being one: the probability, given the totals, of every
/// outcome no likelier than this one. 117/120 against 135/180 gives 3e-8. 1 where either has no
/// trials. Source: long-context chapter, claim five, ends against middle.
/// \throws ArgumentError as wilsonInterval
double fisherExact(const Proportion& a, const Proportion& b);

/// The exact binomial test: the probability, were each trial right with `chance`, of every count no
/// likelier than this one. 1 without trials.
/// \throws ArgumentError as wilsonInterval, or for a chance outside [0, 1]
double binomialExact(const Proportion& proportion, double chance);

/// The fewest trials, all of them right, whose Wilson interval lies at or above `threshold`: 22 for
/// 0.85, so a cell of 12 cannot pass. \throws ArgumentError unless 0 <= threshold < 1
std::int64_t fewestTrialsToPass(double threshold, double z = kNormal95);

/// A sample's middle and spread, which a few disturbed runs do not move.
struct MedianEstimate
{
    std::int64_t count = 0;
    double median = 0.0;
    double firstQuartile = 0.0; ///< linear between neighbours, as NumPy's default
    double thirdQuartile = 0.0;
    double medianDeviation = 0.0; ///< MAD: the median of |value - median|, not rescaled

    double quartileRange() const { return thirdQuartile - firstQuartile; }
};

/// \throws ArgumentError for no values or one that is not finite
MedianEstimate medianEstimate(std::span<const double> values);

/// The two-sided 95 % point of Student's t: 12.706 for 1 degree of freedom, 1.96 for very many.
/// \pre degreesOfFreedom >= 1
double studentT95(std::int64_t degreesOfFreedom);

} // namespace kvscope
