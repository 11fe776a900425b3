#pragma once

#include "engine/checkpoint/model_config.h"
#include "engine/kernels/linear/weight_matrix.h"
#include "engine/model/decoder.h"
#include "engine/model/decoder_weights.h"

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <vector>

namespace kvscope {

/// How the pieces of a forward pass multiply.
struct ProductSettings
{
    KernelPath path = KernelPath::Fast;
    Precision precision = Precision::Fast;
};

/// x W^T + b by the path and precision asked for; x [N, in], result [N, out].
at::Tensor product(const at::Tensor& x, const WeightMatrix& weight,
                   const ProductSettings& settings);
/// As linearFloat32() has it.
at::Tensor productFloat32(const at::Tensor& x, const WeightMatrix& weight,
                          const ProductSettings& settings);
at::Tensor product(const at::Tensor& x, const LinearWeights& linear,
                   const ProductSettings& settings);
/// Several of one input, by weight.
std::vector<at::Tensor> products(const at::Tensor& x,
                                 std::initializer_list<const LinearWeights*> linears,
                                 const ProductSettings& settings);

/// down(act(gate x) * up x), or without a gate down(act(up x)); x [N, E], result [N, E].
at::Tensor feedForward(const at::Tensor& x, const FeedForwardWeights& weights,
                       Activation activation, const ProductSettings& settings);

/// Which experts a token goes to and how much each counts, on the tokens' device.
struct Routing
{
    at::Tensor experts; ///< [N, topK] int64, highest probability first
    at::Tensor weights; ///< [N, topK] float32
};

/// Softmax over all experts in float32 and the topK largest, which sum to 1 per token where the
/// configuration normalises them.
Routing route(const at::Tensor& x, const MoEWeights& moe, const MoEConfig& config,
              const ProductSettings& settings);

/// Routed experts by weight plus every shared expert (times its gate's sigmoid, where it has one);
/// x [N, E], result [N, E]. Few tokens visit their experts one by one, so that only those weights
/// are read; many are grouped by expert.
at::Tensor mixtureOfExperts(const at::Tensor& x, const MoEWeights& moe, const Routing& routing,
                            Activation activation, const ProductSettings& settings);

} // namespace kvscope
