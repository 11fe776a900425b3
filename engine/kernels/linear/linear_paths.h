#pragma once

#include "engine/kernels/cpu_features.h"
#include "engine/kernels/linear/linear_kernels.h"
#include "engine/kernels/linear/panel_kernels.h"
#include "engine/kernels/linear/weight_matrix.h"

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

namespace kvscope {

// The ways that linear() chooses from, apart so that tests compare each with linearReference().
// x is [N, in] contiguous float32 on the CPU unless stated, weights are as WeightMatrix says.

/// TORCH_CHECKs that the weight's tensor has the type, shape and layout that its fields state.
void checkWeight(const WeightMatrix& weight);

/// Reads the weight once where it lies and multiplies with every row of x, without a matrix
/// library.
at::Tensor linearFewRows(const at::Tensor& x, const WeightMatrix& weight, Precision precision,
                         InstructionSet instructions);
/// Several weights of one input, which is rounded once, in one sharing out among the threads.
/// \returns by weight, to the last bit what each alone gives
std::vector<at::Tensor> linearFewRows(const at::Tensor& x,
                                      std::span<const WeightMatrix* const> weights,
                                      Precision precision, InstructionSet instructions);

/// Expands slices of the weight to float32 and calls the matrix library.
at::Tensor linearManyRows(const at::Tensor& x, const WeightMatrix& weight);

/// Expands panels of the weight to float32 and multiplies them with kernels of our own
/// (panel_kernels.h): nine tenths of what two Zen 2 cores can, where the library reaches seven
/// tenths. A row of y is the same bits whatever rows of x are beside it.
at::Tensor linearPanels(const at::Tensor& x, const WeightMatrix& weight,
                        const PanelKernels& kernels);
/// An instruction set's kernels, in float32; null: it has none.
const PanelKernels* panelKernels(InstructionSet instructions);
/// Those that take float32 apart into two bfloat16 each (panel_amx.h) for weights of that type;
/// null: not on this processor.
const PanelKernels* tileKernels(StorageType type);
/// Those that round to integers (panel_integers.h); null: not on this processor.
const PanelKernels* integerKernels();

/// Those that linear() uses; null: the matrix library.
const PanelKernels* kernelsForManyRows(StorageType type, Precision precision);

/// On any device: expandTensorOps() to x's dtype and one matmul.
/// \param result  x's dtype, or on CUDA float32
at::Tensor linearTensorOps(const at::Tensor& x, const WeightMatrix& weight, at::ScalarType result);

/// The whole weight [out, in] in `dtype` through tensor operations, on the weight's device.
/// \param mostAtOnce  elements, of which each takes up to some 20 bytes meanwhile
at::Tensor expandTensorOps(const WeightMatrix& weight, at::ScalarType dtype,
                           std::int64_t mostAtOnce = 1 << 24);

/// The loops for one storage type. `instructions` must be available here.
FormatKernels formatKernels(StorageType type, InstructionSet instructions);

} // namespace kvscope
