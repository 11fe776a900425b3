#pragma once

#include "engine/cache/kv_view.h"
#include "engine/kernels/attention/attention.h"
#include "engine/kernels/cuda/cuda_conversions.h"
#include "engine/kernels/cuda/decode_attention.h"
#include "engine/kernels/cuda/elementwise_launch.h"
#include "engine/kernels/cuda/weight_product.h"
#include "engine/kernels/linear/weight_matrix.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>

// What kernels are launched with, of tensors: the same for the CUDA module and for the test that
// runs the kernels on the CPU. Launches borrow the tensors' memory. Shapes are as the function has
// them that the kernel stands for.

namespace kvscope {

/// \param x  at most kMostProductInputs rows \param y  [rows of x, weight.rows], contiguous
inline WeightProductLaunch weightProductLaunch(const at::Tensor& x, const WeightMatrix& weight,
                                               const at::Tensor& y)
{
    WeightProductLaunch launch{};
    launch.type = weight.type;
    launch.weight = static_cast<const std::byte*>(weight.data.const_data_ptr());
    launch.rowBytes = weight.data.size(1);
    launch.rows = static_cast<int>(weight.rows);
    launch.cols = static_cast<int>(weight.cols);
    launch.number = cudaNumberOf(x);
    launch.x = x.const_data_ptr();
    launch.y = y.mutable_data_ptr();
    launch.numInputs = static_cast<int>(x.size(0));
    return launch;
}

inline RmsNormLaunch rmsNormLaunch(const at::Tensor& x, const at::Tensor& gain, double epsilon,
                                   const at::Tensor& out)
{
    RmsNormLaunch launch{};
    launch.number = cudaNumberOf(x);
    launch.x = x.const_data_ptr();
    launch.gain = gain.const_data_ptr<float>();
    launch.out = out.mutable_data_ptr();
    launch.rows = static_cast<int>(x.size(0));
    launch.width = static_cast<int>(x.size(1));
    launch.epsilon = static_cast<float>(epsilon);
    return launch;
}

inline RotateLaunch rotateLaunch(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                                 RotaryPairing pairing)
{
    RotateLaunch launch{};
    launch.number = cudaNumberOf(x);
    launch.x = x.mutable_data_ptr();
    for (int i = 0; i < 3; ++i)
        launch.strides[i] = x.stride(i);
    launch.cos = cos.const_data_ptr<float>();
    launch.sin = sin.const_data_ptr<float>();
    launch.batch = static_cast<int>(x.size(0));
    launch.tokens = static_cast<int>(x.size(1));
    launch.heads = static_cast<int>(x.size(2));
    launch.pairs = static_cast<int>(x.size(3) / 2);
    launch.isAdjacent = pairing == RotaryPairing::Adjacent;
    return launch;
}

inline GatedLaunch gatedLaunch(const at::Tensor& gate, const at::Tensor& up, Activation activation,
                               const at::Tensor& out)
{
    GatedLaunch launch{};
    launch.number = cudaNumberOf(gate);
    launch.gate = gate.const_data_ptr();
    launch.up = up.const_data_ptr();
    launch.gateStride = gate.stride(0);
    launch.upStride = up.stride(0);
    launch.out = out.mutable_data_ptr();
    launch.rows = static_cast<int>(gate.size(0));
    launch.width = static_cast<int>(gate.size(1));
    launch.gating = cudaGating(activation);
    return launch;
}

inline DecodePiece decodePiece(const KVSegment& segment)
{
    DecodePiece piece{};
    piece.keys = segment.keys.const_data_ptr();
    piece.values = segment.values.const_data_ptr();
    for (int i = 0; i < 3; ++i) {
        piece.keyStrides[i] = segment.keys.stride(i);
        piece.valueStrides[i] = segment.values.stride(i);
    }
    piece.firstPosition = segment.firstPosition;
    piece.length = segment.length();
    return piece;
}

/// All but the splits. \param out  as q
inline DecodeAttentionLaunch decodeAttentionLaunch(const at::Tensor& q, const KVView& view,
                                                   std::int64_t position,
                                                   const AttentionSettings& settings,
                                                   const at::Tensor& out)
{
    const at::Tensor& keys = view.segments[0].keys;
    DecodeAttentionLaunch launch{};
    launch.queryType = cudaNumberOf(q);
    launch.q = q.const_data_ptr();
    launch.out = out.mutable_data_ptr();
    launch.sinks = settings.sinks.defined() ? settings.sinks.const_data_ptr<float>() : nullptr;
    launch.keyType = cachedNumberOf(keys);
    launch.numPieces = static_cast<int>(view.numSegments);
    for (std::size_t i = 0; i < view.numSegments; ++i)
        launch.pieces[i] = decodePiece(view.segments[i]);
    launch.batch = static_cast<int>(q.size(0));
    launch.numKvHeads = static_cast<int>(keys.size(1));
    launch.group = static_cast<int>(q.size(2) / keys.size(1));
    launch.headDim = static_cast<int>(q.size(3));
    launch.scale = static_cast<float>(settings.scale);
    launch.end = std::min(position + 1, view.firstPosition() + view.length());
    launch.begin = settings.window > 0
                       ? std::max(view.firstPosition(), position - settings.window + 1)
                       : view.firstPosition();
    return launch;
}

/// What splits leave for the kernel that merges them.
struct DecodePartials
{
    at::Tensor values; ///< [B, H, numSplits, D] float32
    at::Tensor states; ///< [B, H, numSplits, 2]
};

/// Memory for a launch whose splits are planned, beside q; to be kept until it is queued.
inline DecodePartials allocatePartials(DecodeAttentionLaunch& launch, const at::Tensor& q)
{
    const auto options = q.options().dtype(at::kFloat);
    DecodePartials partials{at::empty({q.size(0), q.size(2), launch.numSplits, q.size(3)}, options),
                            at::empty({q.size(0), q.size(2), launch.numSplits, 2}, options)};
    launch.partialValues = partials.values.mutable_data_ptr<float>();
    launch.partialStates = partials.states.mutable_data_ptr<float>();
    return partials;
}

} // namespace kvscope
