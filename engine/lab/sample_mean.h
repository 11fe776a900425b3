#pragma once

#include "engine/lab/sample_mean_report.h"

#include <span>

namespace kvscope {

/// Mean, standard error and interval; all zeros without values.
SampleMean sampleMean(std::span<const double> values);

} // namespace kvscope
