#pragma once

#include "engine/checkpoint/tensor_file.h"

#include <cstdint>
#include <vector>

namespace kvscope {

/// A matrix [rows, cols] somewhere inside a tensor: files fuse matrices, stack experts and store
/// some transposed. Counted in elements; those of block formats have whole, unstrided rows.
struct MatrixSource
{
    const TensorInfo* tensor = nullptr; ///< null: the family has none
    std::int64_t offset = 0;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t rowStride = 0;
    std::int64_t colStride = 1;
    /// Hugging Face's MXFP4: one exponent byte per 32 columns, [rows, cols / 32]; `tensor` then
    /// holds two 4-bit elements a byte, the first in the low half.
    const TensorInfo* exponents = nullptr;

    explicit operator bool() const { return tensor != nullptr; }
    /// Rows first, first + step, ... of this matrix.
    MatrixSource rowsFrom(std::int64_t first, std::int64_t count, std::int64_t step = 1) const;
    MatrixSource transposed() const;
};

/// `size` elements inside a tensor of a plain type.
struct VectorSource
{
    const TensorInfo* tensor = nullptr; ///< null: the family has none
    std::int64_t offset = 0;
    std::int64_t size = 0;
    std::int64_t stride = 1;

    explicit operator bool() const { return tensor != nullptr; }
    VectorSource from(std::int64_t first, std::int64_t count, std::int64_t step = 1) const;
};

/// A linear layer: x W^T + b.
struct LinearTensors
{
    MatrixSource weight; ///< [out, in]
    VectorSource bias;   ///< [out], or none
};

/// A norm's gain and, of a LayerNorm, its bias.
struct NormTensors
{
    VectorSource gain; ///< [E]; none: there is no norm here
    VectorSource bias; ///< [E]
};

/// A gated feed-forward, down(act(gate x) * up x), or without a gate down(act(up x)).
struct FeedForwardTensors
{
    LinearTensors gate; ///< [F, E]
    LinearTensors up;   ///< [F, E]
    LinearTensors down; ///< [E, F]
};

/// One layer's tensors by what they do, whatever a family calls them.
struct LayerTensors
{
    NormTensors attentionNorm;
    LinearTensors query;    ///< [H * D, E]
    LinearTensors key;      ///< [Hkv * D, E]
    LinearTensors value;    ///< [Hkv * D, E]
    VectorSource queryNorm; ///< [D] or [H * D]
    VectorSource keyNorm;   ///< [D] or [Hkv * D]
    LinearTensors output;   ///< [E, H * D]
    VectorSource sink;      ///< [H], not yet clamped
    NormTensors attentionPostNorm;
    NormTensors feedForwardNorm;
    FeedForwardTensors dense; ///< where there are no experts
    LinearTensors router;     ///< [experts, E]
    std::vector<FeedForwardTensors> experts;
    std::vector<FeedForwardTensors> sharedExperts;
    MatrixSource sharedGate; ///< [1, E]
    NormTensors feedForwardPostNorm;
};

/// A model's tensors; every source points into the checkpoint's files and has the shape stated.
struct ModelTensors
{
    MatrixSource embedding; ///< [V, E]
    MatrixSource positions; ///< [trained positions, E], where they are learned
    NormTensors finalNorm;
    LinearTensors head; ///< [V, E]; none where tied
    std::vector<LayerTensors> layers;
};

} // namespace kvscope
