#pragma once

#include "engine/kernels/linear/weight_matrix.h"

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

namespace kvscope {

/// y = x W^T for a few or many rows.
///
/// CPU: few rows (decode) read the weight once where it lies, threads splitting its rows; many rows
/// expand parts of it for kernels of our own (AVX2, AVX-512, VNNI, AMX), or for the matrix library
/// on other processors. CUDA: LibTorch's product in the input's dtype, block formats expanded
/// first; a few rows read blocks where they lie. \param x  [N, in], contiguous; float32 on the CPU,
/// the compute dtype on CUDA \returns [N, out], dtype of x
at::Tensor linear(const at::Tensor& x, const WeightMatrix& weight, Precision precision);

/// The same as float32: on CUDA sums are not rounded to x's dtype, for logits and for what experts
/// are chosen by. A few rows times a block format are.
at::Tensor linearFloat32(const at::Tensor& x, const WeightMatrix& weight, Precision precision);

/// linear() for several weights of one input, by weight: queries, keys and values, or gate and up.
/// Few rows are cheaper so, for waking the threads costs about as much as a small product.
std::vector<at::Tensor> linear(const at::Tensor& x, std::span<const WeightMatrix* const> weights,
                               Precision precision);

/// The same through expand() and one float32 matmul: the definition that linear() is compared with.
at::Tensor linearReference(const at::Tensor& x, const WeightMatrix& weight);
/// The same as float32.
at::Tensor linearFloat32Reference(const at::Tensor& x, const WeightMatrix& weight);

/// The whole weight as float32 [out, in] on its device.
at::Tensor expand(const WeightMatrix& weight);

/// Rows of a weight as an embedding lookup.
/// \param ids  [N] int64 on the weight's device, each below weight.rows (the caller checks)
/// \returns [N, in] float32
at::Tensor lookUpRows(const WeightMatrix& weight, const at::Tensor& ids);

} // namespace kvscope
