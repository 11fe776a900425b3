#pragma once

#include "engine/checkpoint/tensor_file.h"
#include "engine/kernels/linear/linear_kernels.h"

namespace kvscope::portable {

/// Plain C++ for any processor, and the definition of the faster sets.
FormatKernels formatKernels(StorageType type);
void quantizeRow(const float* x, std::int64_t cols, std::int16_t* quantized, float* scaleAndSum);

} // namespace kvscope::portable
