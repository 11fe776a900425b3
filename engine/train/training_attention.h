#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kvscope {

/// Attention with a learned sink per query head, with gradients.
/// softmax over the visible keys and one more logit, the sink, whose value is zero.
/// Source: spec of GPT-OSS-Lite, models/attention.py.
///
/// \param q  [B, H, T, D]
/// \param k, v  [B, Hkv, T, D], query head h looks at key/value head h / (H / Hkv)
/// \param sinks  [H], as used (clamped)
/// \returns [B, H, T, D]
at::Tensor causalAttentionWithSinks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const at::Tensor& sinks);

/// The same where query i sees key j only if 0 <= i - j < window. Linear in T.
at::Tensor windowedAttentionWithSinks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const at::Tensor& sinks, std::int64_t window);

} // namespace kvscope
