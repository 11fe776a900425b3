#pragma once

#include "engine/checkpoint/model_config.h"
#include "engine/model/rotary.h"
#include "engine/train/training_parameters.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kvscope {

/// What a forward pass under training gives.
struct TrainingOutput
{
    at::Tensor hidden;  ///< normalised, [B * T, E]
    at::Tensor balance; ///< load-balancing loss, a scalar: 1 where every text visits experts evenly
    at::Tensor load;    ///< [layers, experts]: the share of the visits, no gradient
};

/// What products with a weight are made in on this processor: bfloat16 where it has such products,
/// else float32.
at::ScalarType trainingProducts();

/// The forward pass of GPT-OSS-Lite with gradients. It is a second way of computing what Decoder
/// computes, made of operators that can be differentiated; tst_training_forward holds the two
/// equal.
///
/// Windowed layers are computed in blocks of their window, so their cost is linear in T. The sink
/// is an extra key of zero value, which makes it exact in any attention operator.
class TrainingForward
{
public:
    /// \pre a GPT-OSS-Lite configuration
    /// \param productType  float32, or bfloat16: both factors of every product with a weight are
    /// rounded to it, which is faster where the processor has such products
    explicit TrainingForward(ModelConfig config, at::ScalarType productType = at::kFloat);

    const ModelConfig& config() const { return m_config; }

    /// \param ids  [B, T] int64, positions from 0
    /// \param stride  global layers rotate position p as p * stride: distances of long texts in
    /// short ones, as PoSE has them. Source: Zhu et al. 2023 (2309.10400), of which this is the
    /// evenly spread kind
    TrainingOutput operator()(const TrainingParameters& parameters, const at::Tensor& ids,
                              std::int64_t stride = 1) const;

    /// Logits [N, V] of rows of hidden states [N, E].
    at::Tensor logits(const TrainingParameters& parameters, const at::Tensor& hidden) const;

private:
    at::Tensor linear(const at::Tensor& x, const at::Tensor& weight) const;
    at::Tensor expert(const TrainingParameters& parameters, const ExpertParameters& weights,
                      const at::Tensor& x) const;
    at::Tensor attention(const TrainingParameters& parameters, std::size_t layer,
                         const at::Tensor& x, std::int64_t stride) const;
    /// \param texts  [B, T, E]
    at::Tensor experts(const TrainingParameters& parameters, std::size_t layer,
                       const at::Tensor& texts, TrainingOutput& output) const;

    ModelConfig m_config;
    at::ScalarType m_productType;
    std::vector<RotaryTable> m_rotary; ///< one a layer
};

} // namespace kvscope
