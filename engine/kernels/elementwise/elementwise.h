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

/// (x - mean) / sqrt(variance + epsilon) * gain + bias, sums in float32. x [N, E] contiguous, gain
/// and bias [E] float32. \returns [N, E], dtype of x.
at::Tensor layerNorm(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias,
                     double epsilon);
/// The same written out in float64.
at::Tensor layerNormReference(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias,
                              double epsilon);

/// act(gate) * up, element by element, both [N, F] with a contiguous last dimension; ClampedSilu's
/// formula is in model_config.h. \returns [N, F].
at::Tensor gated(const at::Tensor& gate, const at::Tensor& up, Activation activation);
at::Tensor gatedReference(const at::Tensor& gate, const at::Tensor& up, Activation activation);

/// act(x) of a feed-forward without a gate. \param activation  not ClampedSilu
at::Tensor activated(const at::Tensor& x, Activation activation);

/// cap * tanh(x / cap) in place.
void softCap(at::Tensor& x, double cap);

} // namespace kvscope
