#pragma once

#include "engine/checkpoint/checkpoint.h"
#include "engine/kernels/weight_matrix.h"
#include "engine/model/decoder.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace kvscope {

/// A gated feed-forward's matrices: down(silu(gate x) * up x).
struct FeedForwardWeights
{
    WeightMatrix gate; ///< [F, E]
    WeightMatrix up;   ///< [F, E]
    WeightMatrix down; ///< [E, F]
};

/// Routed and shared experts of one layer.
struct MoEWeights
{
    WeightMatrix router; ///< [experts, E]
    std::vector<FeedForwardWeights> experts;
    std::vector<FeedForwardWeights> shared;
    std::int64_t numActive = 0;
};

struct LayerWeights
{
    at::Tensor attentionNorm; ///< [E] float32
    WeightMatrix query;       ///< [H * D, E]
    WeightMatrix key;         ///< [Hkv * D, E]; without rows where fused
    WeightMatrix value;
    WeightMatrix keyValue;      ///< [2 * Hkv * D, E], keys first; without rows where separate
    WeightMatrix output;        ///< [E, H * D]
    at::Tensor sink;            ///< [H] float32, clamped; undefined: none
    at::Tensor feedForwardNorm; ///< [E] float32
    FeedForwardWeights dense;   ///< without rows where there are experts
    MoEWeights experts;         ///< empty where dense
};

struct DecoderWeights
{
    WeightMatrix embedding; ///< [V, E]
    at::Tensor finalNorm;   ///< [E] float32
    WeightMatrix head;      ///< [V, E]; the embedding where tied (the same memory)
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
/// Bytes that one decode step at batch 1 reads.
std::uint64_t activeBytes(const DecoderWeights& weights);

} // namespace kvscope
