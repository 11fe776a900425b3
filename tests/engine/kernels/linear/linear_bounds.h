#pragma once

#include "engine/kernels/linear/linear.h"
#include "tests/support/tensor_compare.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros_like.h>

#include <QString>

// How far a product may be from its definition, shared by the tests of linear().

namespace kvscope {

/// Of a product of float32 and its place in a float32 sum.
inline constexpr double kSummed = 1e-6;

/// An upper bound of each output's error: `perElement` of the largest input of each block of 32,
/// times the weights' magnitudes, and `perProduct` of each product.
inline at::Tensor errorBound(const at::Tensor& x, const at::Tensor& expanded, double perElement,
                             double perProduct)
{
    const at::Tensor magnitudes = expanded.abs().to(at::kDouble).t();
    const at::Tensor input = x.abs().to(at::kDouble);
    at::Tensor bound = at::mm(input, magnitudes) * perProduct;
    if (perElement > 0) {
        const at::Tensor blocks = input.view({x.size(0), x.size(1) / 32, 32});
        const at::Tensor largest = blocks.amax(2, true).expand_as(blocks).reshape(x.sizes());
        bound += at::mm(largest, magnitudes) * perElement;
    }
    return bound + 1e-30;
}

/// \returns empty where every output is within its bound
inline QString worstAgainstDefinition(const at::Tensor& got, const at::Tensor& x,
                                      const WeightMatrix& weight, double perElement,
                                      double perProduct = kSummed)
{
    const at::Tensor expanded = expand(weight);
    const at::Tensor want = at::mm(x.to(at::kDouble), expanded.to(at::kDouble).t());
    const at::Tensor share =
        (got.to(at::kDouble) - want) / errorBound(x, expanded, perElement, perProduct);
    return compareTensors(share, at::zeros_like(share), 1.0, 0.0);
}

/// Half of the quantisation step, 1 / 32767 of a block's largest input, and a little for rounding.
inline constexpr double kQuantized = 0.5 / 32767 * 1.01;

/// Of a product of panel_amx.h: low parts are at most 2^-8 of the whole, lose 2^-9 of themselves
/// each, and their own product is left out. And the sum.
inline constexpr double kTakenApart = 0x1p-17 + 0x1p-17 + 0x1p-16 + kSummed;

} // namespace kvscope
