#pragma once

#include "engine/kernels/elementwise/elementwise_kernels.h"

namespace kvscope {

/// The loops for x86-64 with AVX2 and FMA.
const ElementwiseKernels& avx2ElementwiseKernels();

} // namespace kvscope
