#pragma once

#include "engine/kernels/linear.h"
#include "tests/support/tensor_compare.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros_like.h>

#include <QString>

// How far a product may be from its definition, shared by the tests of linear().

namespace kvscope {

/// An upper bound of each output's error: `perElement` of the largest input of each block of 32,
/// times the weights' magnitudes, and float32 rounding of the sum.
inline at::Tensor errorBound(const at::Tensor& x, const at::Tensor& expanded, double perElement)
{
    const at::Tensor magnitudes = expanded.abs().to(at::kDouble).t();
    const at::Tensor input = x.abs().to(at::kDouble);
    at::Tensor bound = at::mm(input, magnitudes) * 1e-6;
    if (perElement > 0) {
        const at::Tensor blocks = input.view({x.size(0), x.size(1) / 32, 32});
        const at::Tensor largest = blocks.amax(2, true).expand_as(blocks).reshape(x.sizes());
        bound += at::mm(largest, magnitudes) * perElement;
    }
    return bound + 1e-30;
}

/// \returns empty where every output is within its bound
inline QString worstAgainstDefinition(const at::Tensor& got, const at::Tensor& x,
                                      const WeightMatrix& weight, double perElement)
{
    const at::Tensor expanded = expand(weight);
    const at::Tensor want = at::mm(x.to(at::kDouble), expanded.to(at::kDouble).t());
    const at::Tensor share = (got.to(at::kDouble) - want) / errorBound(x, expanded, perElement);
    return compareTensors(share, at::zeros_like(share), 1.0, 0.0);
}

/// Half of the quantisation step, 1 / 32767 of a block's largest input, and a little for rounding.
inline constexpr double kQuantized = 0.5 / 32767 * 1.01;

} // namespace kvscope
