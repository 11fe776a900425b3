#pragma once

#include "engine/checkpoint/model_config.h"

#include <ATen/core/Tensor.h>

namespace kvscope {

// What CudaKernels offers of elementwise.h, for float32, bfloat16 and float16. What elementwise.h
// checks has been checked.

at::Tensor rmsNormOnCuda(const at::Tensor& x, const at::Tensor& gain, double epsilon);
void rotateOnCuda(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                  RotaryPairing pairing);
/// \param activation  Silu, GeluTanh or ClampedSilu
at::Tensor gatedOnCuda(const at::Tensor& gate, const at::Tensor& up, Activation activation);

} // namespace kvscope
