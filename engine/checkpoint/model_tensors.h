#pragma once

#include "engine/checkpoint/tensor_file.h"

#include <vector>

namespace kvscope {

/// A gated feed-forward: down(silu(gate x) * up x). gate and up are [F, E], down is [E, F].
struct FeedForwardTensors
{
    const TensorInfo* gate = nullptr;
    const TensorInfo* up = nullptr;
    const TensorInfo* down = nullptr;
};

/// One layer's tensors by what they do, whatever a family calls them. Null: the family has none.
struct LayerTensors
{
    const TensorInfo* attentionNorm = nullptr;   ///< [E]
    const TensorInfo* query = nullptr;           ///< [H * D, E]
    const TensorInfo* key = nullptr;             ///< [Hkv * D, E]; null where fused
    const TensorInfo* value = nullptr;           ///< [Hkv * D, E]; null where fused
    const TensorInfo* keyValue = nullptr;        ///< fused: [2 * Hkv * D, E], keys first
    const TensorInfo* output = nullptr;          ///< [E, H * D]
    const TensorInfo* sink = nullptr;            ///< [H], not yet clamped
    const TensorInfo* feedForwardNorm = nullptr; ///< [E]
    FeedForwardTensors dense;                    ///< where there are no experts
    const TensorInfo* router = nullptr;          ///< [experts, E]
    std::vector<FeedForwardTensors> experts;
    std::vector<FeedForwardTensors> sharedExperts;
};

/// A model's tensors; every pointer points into the checkpoint's files and has the shape stated.
struct ModelTensors
{
    const TensorInfo* embedding = nullptr; ///< [V, E]
    const TensorInfo* finalNorm = nullptr; ///< [E]
    const TensorInfo* head = nullptr;      ///< [V, E]; null where tied
    std::vector<LayerTensors> layers;
};

} // namespace kvscope
