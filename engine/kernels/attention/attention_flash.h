#pragma once

#include "engine/kernels/attention/attention.h"

#include <cstdint>
#include <optional>

namespace kvscope {

/// What a FlashOperation answers.
struct FlashResult
{
    at::Tensor out; ///< [B, T, H, D], dtype of q; may be written to
    at::Tensor lse; ///< [B, H, T] float32: log of the sum of exp(scale q·k) over the visible keys
};

/// Softmax attention without a sink whose last query and last key have the same position: query t
/// of T sees key s of S where 0 <= (t + S - T) - s <= windowLeft, without windowLeft every key up
/// to its own position. Query head h reads key/value head h / (H / Hkv).
/// \param q  [B, T, H, D] contiguous, T <= S
/// \param keys, values  [B, S, Hkv, D] of q's dtype, the last dimension contiguous
using FlashOperation = FlashResult (*)(const at::Tensor& q, const at::Tensor& keys,
                                       const at::Tensor& values, double scale,
                                       std::optional<std::int64_t> windowLeft);

/// LibTorch's flash attention (at::_flash_attention_forward: FlashAttention-2, Dao 2023), CUDA
/// tensors of float16 or bfloat16 alone, D a multiple of 8 and at most 256, sm_80 or newer. Scores
/// and sums in float32, weights rounded to q's dtype for the product with the values. Not run on a
/// GPU so far. \throws c10::Error beyond these limits
FlashResult flashAttentionOnCuda(const at::Tensor& q, const at::Tensor& keys,
                                 const at::Tensor& values, double scale,
                                 std::optional<std::int64_t> windowLeft);

/// Whether attentionThroughFlash() with flashAttentionOnCuda() computes this call of attention():
/// its dtypes and head sizes, no soft cap, and keys up to the last query's position. Says nothing
/// of the device.
bool fitsFlashAttention(const at::Tensor& q, const KVView& view, std::int64_t firstQueryPosition,
                        const AttentionSettings& settings);

/// attention() by a flash operation. The positions that any query sees are joined to one run (a
/// view of one segment of q's dtype is used where it lies; int8 and fp8 become numbers of q's
/// dtype), and the sink is taken off afterwards: out * sigmoid(lse - sink).
at::Tensor attentionThroughFlash(const at::Tensor& q, const KVView& view,
                                 std::int64_t firstQueryPosition, const AttentionSettings& settings,
                                 FlashOperation flash);

} // namespace kvscope
