#pragma once

#include "engine/cache/kv_view.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kvscope {

struct AttentionSettings
{
    double scale = 1.0;      ///< multiplies q·k, usually 1/sqrt(D)
    std::int64_t window = 0; ///< query i sees key j when 0 <= i - j < window; 0: every j <= i
    double softCap = 0.0;    ///< scores become cap * tanh(score / cap); 0: no cap
    at::Tensor sinks; ///< [H] float32, already clamped: one more softmax column with zero value per
                      ///< head; undefined: none
    bool isExact = false; ///< products in float32 whatever the cache is of; otherwise many queries
                          ///< may be rounded beside keys and values that are (attention_integers.h)
    bool isStreamed = false; ///< whether more is read from one decode step to the next than the
                             ///< last cache holds: keys and values then pass it by, in shorter
                             ///< blocks, whose sums round otherwise; few queries on the CPU alone
};

/// Softmax attention of a chunk's queries over a cache view, grouped heads, windows and sinks
/// inside.
///
/// Query t sits at position firstQueryPosition + t; view.firstPosition() + index is a key's
/// position. A sink multiplies the output by sigmoid(lse - sink), lse being the log-sum-exp over
/// the visible keys. Query head h reads key/value head h / (H / Hkv). A query must see at least one
/// key.
///
/// CPU: tiles of keys, float32 sums and no score matrix kept; heads, query blocks and (for few
/// queries) parts of the cache go to different threads and are merged by log-sum-exp; keys outside
/// a window count for nothing. CUDA, after ensureCudaBackend(): one token goes to the kernel of
/// decode_attention_launch.h, longer chunks of float16 and bfloat16 to LibTorch's flash attention
/// (attention_flash.h, not run on a GPU so far); float32, which is the exact path, soft caps and
/// other head sizes go through plain operations in blocks of queries.
/// \param q  [B, T, H, D] contiguous; float32 on the CPU, the compute dtype on CUDA.
/// \param view  keys and values float32, bfloat16, float16, int8 or fp8
/// (engine/cache/scaled_rows.h). \returns [B, T, H, D], dtype of q.
at::Tensor attention(const at::Tensor& q, const KVView& view, std::int64_t firstQueryPosition,
                     const AttentionSettings& settings);

/// The same with dense scores and masks in a few tensor operations, on any device: the definition.
at::Tensor attentionReference(const at::Tensor& q, const KVView& view,
                              std::int64_t firstQueryPosition, const AttentionSettings& settings);

} // namespace kvscope
