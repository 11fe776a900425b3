#pragma once

#include "engine/kernels/cuda/top_logits_launch.h"

#include <ATen/core/Tensor.h>

namespace kvscope {

/// CudaKernels::topLogits.
void topLogitsOnCuda(const at::Tensor& logits, double temperature, TopLogits& result);

} // namespace kvscope
