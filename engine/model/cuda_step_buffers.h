#pragma once

#include "engine/checkpoint/model_config.h"
#include "engine/kernels/cuda/step_launches.h"
#include "engine/model/rotary.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <vector>

namespace kvscope {

/// What the kernels of a CudaStep hand to each other on the device, float32 unless stated, and what
/// they read of the token at hand. Addresses stay.
class CudaStepBuffers
{
public:
    /// cos and sin of one rotation at the token's position.
    struct Rotation
    {
        const float* cos;
        const float* sin;
        std::int64_t pairs;
    };

    /// \param rotaryOfLayer  the rotations, numbered, by layer
    CudaStepBuffers(const ModelConfig& config, std::span<const std::size_t> rotaryOfLayer,
                    at::Device device);

    /// Copies what the next step is to read, behind what the current stream has.
    /// \param rows  on the CPU, by rotation
    void setToken(const StepToken& token, std::span<const RotaryRows> rows);
    const StepToken* token() const;
    Rotation rotation(std::size_t number) const;

    at::Tensor x;      ///< [E], the residual
    at::Tensor q;      ///< [H * D]
    at::Tensor k;      ///< [Hkv * D]
    at::Tensor v;      ///< [Hkv * D]
    at::Tensor turned; ///< [H * D], q as attention reads it
    at::Tensor mixed;  ///< [H * D], what attention gives
    at::Tensor gate;   ///< [visits, width] of any layer's feed-forwards
    at::Tensor up;     ///< the same
    at::Tensor parts;  ///< [visits, E], what is to be added to the residual
    at::Tensor router; ///< [routed + 1], logits of routed experts and the shared ones' gate
    at::Tensor chosen; ///< [active] int32
    at::Tensor shares; ///< [visits], how much each counts
    at::Tensor logits; ///< [1, 1, V]

private:
    std::vector<std::int64_t> m_pairs; ///< by rotation
    std::vector<std::byte> m_onHost;
    at::Tensor m_input; ///< bytes: StepToken; cos and sin of each rotation
};

} // namespace kvscope
