#pragma once

#include "engine/kernels/linear/weight_matrix.h"

#include <ATen/core/Tensor.h>

namespace kvscope {

/// CudaKernels::weightProduct.
at::Tensor weightProductOnCuda(const at::Tensor& x, const WeightMatrix& weight);

} // namespace kvscope
