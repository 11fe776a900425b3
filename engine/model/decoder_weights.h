#pragma once

#include "engine/checkpoint/checkpoint.h"
#include "engine/kernels/linear/weight_matrix.h"
#include "engine/model/decoder.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace kvscope {

/// A linear layer: x W^T + b.
struct LinearWeights
{
    WeightMatrix weight; ///< without rows where the family has none
    at::Tensor bias;     ///< [out] float32; undefined: none

    explicit operator bool() const { return weight.rows > 0; }
};

/// A norm's gain and, of a LayerNorm, its bias: float32 [E]. An undefined gain says there is none.
struct NormWeights
{
    at::Tensor gain;
    at::Tensor bias;
};

/// down(act(gate x) * up x); without a gate down(act(up x)).
struct FeedForwardWeights
{
    LinearWeights gate; ///< [F, E]
    LinearWeights up;   ///< [F, E]
    LinearWeights down; ///< [E, F]
};

/// Routed and shared experts of one layer.
struct MoEWeights
{
    LinearWeights router; ///< [experts, E]
    std::vector<FeedForwardWeights> experts;
    std::vector<FeedForwardWeights> shared;
    WeightMatrix sharedGate; ///< [1, E]; without rows: shared experts count 1
};

struct LayerWeights
{
    NormWeights attentionNorm;
    LinearWeights query;   ///< [H * D, E]
    LinearWeights key;     ///< [Hkv * D, E]
    LinearWeights value;   ///< [Hkv * D, E]
    NormWeights queryNorm; ///< [D] or [H * D]
    NormWeights keyNorm;   ///< [D] or [Hkv * D]
    LinearWeights output;  ///< [E, H * D]
    at::Tensor sink;       ///< [H] float32, clamped where the family does; undefined: none
    NormWeights attentionPostNorm;
    NormWeights feedForwardNorm;
    FeedForwardWeights dense; ///< without rows where there are experts
    MoEWeights experts;       ///< empty where dense
    NormWeights feedForwardPostNorm;
};

struct DecoderWeights
{
    WeightMatrix embedding; ///< [V, E]
    WeightMatrix positions; ///< [positions, E]; without rows where they are not learned
    NormWeights finalNorm;
    WeightMatrix head; ///< [V, E]; the embedding where tied (the same memory)
    std::vector<LayerWeights> layers;
};

/// GPT-OSS-Lite clamps its sinks before use. Source: models/attention.py, SINK_CLAMP_MIN and _MAX.
inline constexpr double kSinkClampMin = -10.0;
inline constexpr double kSinkClampMax = 15.0;

/// Reads a checkpoint's weights onto a device.
///
/// On the CPU a tensor whose storage is computed with is used where it lies in the mapped file;
/// others are converted. Every page is touched, so that progress is real and the first token does
/// not wait for the disk. \param type  what plain (not block) storage becomes: Auto and Float32
/// keep it as it is on the CPU, since
///              float32 sums of bfloat16 weights are exact
/// \throws MemoryError, Stopped
DecoderWeights loadWeights(const Checkpoint& checkpoint, at::Device device, ComputeType type,
                           const DecoderOptions& options);

/// Bytes of all weights in memory, the tied head counted once.
std::uint64_t totalBytes(const DecoderWeights& weights);
/// Bytes that one decode step at batch 1 reads. \param activeExperts  of each layer's routed ones
std::uint64_t activeBytes(const DecoderWeights& weights, std::int64_t activeExperts);

} // namespace kvscope
