#pragma once

#include "engine/kernels/linear/linear.h"
#include "tests/support/tensor_compare.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros_like.h>

#include <QString>

// How far a product may be from its definition, shared by the tests of linear().

namespace kvscope {

/// Of a product of float32 and its place in a float32 sum.
inline constexpr double kSummed = 1e-6;

/// How far a way of multiplying may be from the definition.
struct ProductError
{
    double perProduct = kSummed; ///< of each product
    double perInput = 0;         ///< of the largest input of each block of 32
    double perWeight = 0;        ///< of the largest weight of each block of 32
};

/// In place of each element the largest magnitude of its block of 32 columns.
inline at::Tensor largestOfBlocks(const at::Tensor& magnitudes)
{
    const std::int64_t cols = magnitudes.size(1);
    const at::Tensor padded = at::constant_pad_nd(magnitudes, {0, (32 - cols % 32) % 32});
    const at::Tensor blocks = padded.view({padded.size(0), -1, 32});
    return blocks.amax(2, true).expand_as(blocks).reshape(padded.sizes()).narrow(1, 0, cols);
}

/// An upper bound of each output's error.
inline at::Tensor errorBound(const at::Tensor& x, const at::Tensor& expanded,
                             const ProductError& error)
{
    const at::Tensor weights = expanded.abs().to(at::kDouble);
    const at::Tensor inputs = x.abs().to(at::kDouble);
    at::Tensor bound = at::mm(inputs, weights.t()) * error.perProduct;
    if (error.perInput > 0)
        bound += at::mm(largestOfBlocks(inputs), weights.t()) * error.perInput;
    if (error.perWeight > 0)
        bound += at::mm(inputs, largestOfBlocks(weights).t()) * error.perWeight;
    return bound + 1e-30;
}

/// \returns empty where every output is within its bound
inline QString worstAgainstDefinition(const at::Tensor& got, const at::Tensor& x,
                                      const WeightMatrix& weight, const ProductError& error)
{
    const at::Tensor expanded = expand(weight);
    const at::Tensor want = at::mm(x.to(at::kDouble), expanded.to(at::kDouble).t());
    const at::Tensor share = (got.to(at::kDouble) - want) / errorBound(x, expanded, error);
    return compareTensors(share, at::zeros_like(share), 1.0, 0.0);
}

/// Float32.
inline constexpr ProductError kExact{};

/// Inputs rounded to 1 / 32767 of a block's largest, by half a step and a little.
inline constexpr ProductError kQuantized{.perInput = 0.5 / 32767 * 1.01};

/// Those of panel_amx.h: low parts are at most 2^-8 of the whole, lose 2^-9 of themselves each, and
/// their own product is left out. And the sum.
inline constexpr ProductError kTakenApart{.perProduct = 0x1p-17 + 0x1p-17 + 0x1p-16 + kSummed};

/// Those of panel_integers.h, which round both.
inline constexpr ProductError kIntegers{.perInput = 0.5 / 8256 * 1.01,
                                        .perWeight = 0.5 / 8128 * 1.01};

} // namespace kvscope
