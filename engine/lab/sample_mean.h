#pragma once

#include "engine/lab/sample_mean_report.h"

#include <cstdint>
#include <span>

namespace kvscope {

/// Mean, standard error and interval; all zeros without values.
SampleMean sampleMean(std::span<const double> values);

/// The two-sided 95 % point of Student's t: 12.706 for one degree of freedom, 1.960 for very many.
/// \pre degreesOfFreedom >= 1
double studentPoint95(std::int64_t degreesOfFreedom);

} // namespace kvscope
