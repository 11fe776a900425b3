#pragma once

#include "engine/checkpoint/model_config.h"

#include <ATen/core/Tensor.h>

namespace kvscope {

/// x / sqrt(mean(x^2) + epsilon) * gain, sums in float32. x [N, E] contiguous, gain [E] float32.
/// \returns [N, E], dtype of x.
at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& gain, double epsilon);
at::Tensor rmsNormReference(const at::Tensor& x, const at::Tensor& gain, double epsilon);

/// Rotates heads in place. x [B, T, Heads, D], last dimension contiguous; cos, sin [T, D/2]
/// float32, row t for x[:, t]. With Adjacent pairing pair i is (2i, 2i+1), with Half it is (i, i +
/// D/2): (a, b) becomes (a cos - b sin, a sin + b cos).
void rotate(at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, RotaryPairing pairing);
at::Tensor rotateReference(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                           RotaryPairing pairing);

/// silu(gate) * up, element by element, both [N, F] with a contiguous last dimension. \returns [N,
/// F].
at::Tensor swiGlu(const at::Tensor& gate, const at::Tensor& up);
at::Tensor swiGluReference(const at::Tensor& gate, const at::Tensor& up);

} // namespace kvscope
