#include "engine/kernels/linear/linear_avx2.h"
#include "engine/kernels/linear/linear_floats_simd.h"

namespace kvscope::avx2 {

constinit const FormatKernels kF32 = floatKernels<float>();
constinit const FormatKernels kF16 = floatKernels<Float16Bits>();
constinit const FormatKernels kBF16 = floatKernels<BFloat16Bits>();

} // namespace kvscope::avx2
