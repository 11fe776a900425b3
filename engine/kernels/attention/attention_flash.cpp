#include "engine/kernels/attention/attention_flash.h"

#include "engine/cache/scaled_rows.h"
#include "engine/kernels/attention/attention_blocks.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <array>
#include <vector>

namespace kvscope {

namespace {

// Of FlashAttention-2's forward pass.
constexpr std::int64_t kHeadDimStep = 8;
constexpr std::int64_t kMaxHeadDim = 256;

/// All segments' keys (or values) in time order: [B, S, Hkv, D] in `dtype`.
at::Tensor joined(const KVView& view, at::Tensor KVSegment::*part, at::ScalarType dtype)
{
    std::vector<at::Tensor> pieces;
    for (std::size_t i = 0; i < view.numSegments; ++i)
        pieces.push_back(cachedNumbers(view.segments[i].*part, dtype));
    return (pieces.size() == 1 ? pieces[0] : at::cat(pieces, 2)).transpose(1, 2);
}

/// The kernel reads 16 bytes at a time and does not look where they begin.
void checkRowsAreAligned(const at::Tensor& tensor)
{
    const auto strides = tensor.strides().slice(0, 3);
    TORCH_CHECK(reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 16 == 0 &&
                    std::all_of(strides.begin(), strides.end(),
                                [](std::int64_t stride) { return stride % kHeadDimStep == 0; }),
                "flash attention: rows must begin at multiples of 16 bytes, not at strides of ",
                tensor.strides());
}

} // namespace

FlashResult flashAttentionOnCuda(const at::Tensor& q, const at::Tensor& keys,
                                 const at::Tensor& values, double scale,
                                 std::optional<std::int64_t> windowLeft)
{
    for (const auto* tensor : {&q, &keys, &values})
        checkRowsAreAligned(*tensor);
    constexpr double kNoDropout = 0.0;
    constexpr bool kIsCausal = true; // with T < S the diagonal ends at the last key (since 2.1)
    constexpr bool kReturnsWeights = false;
    auto result = at::_flash_attention_forward(
        q, keys, values, /*cum_seq_q=*/{}, /*cum_seq_k=*/{}, q.size(1), keys.size(1), kNoDropout,
        kIsCausal, kReturnsWeights, scale, windowLeft, /*window_size_right=*/0);
    return {std::get<0>(result), std::get<1>(result)};
}

bool fitsFlashAttention(const at::Tensor& q, const KVView& view, std::int64_t firstQueryPosition,
                        const AttentionSettings& settings)
{
    const bool hasDtype = q.scalar_type() == at::kHalf || q.scalar_type() == at::kBFloat16;
    const bool reachesLastQuery =
        view.firstPosition() + view.length() >= firstQueryPosition + q.size(1);
    return hasDtype && settings.softCap == 0.0 && q.size(3) % kHeadDimStep == 0 &&
           q.size(3) <= kMaxHeadDim && reachesLastQuery;
}

at::Tensor attentionThroughFlash(const at::Tensor& q, const KVView& view,
                                 std::int64_t firstQueryPosition, const AttentionSettings& settings,
                                 FlashOperation flash)
{
    const auto begin =
        settings.window > 0 ? firstQueryPosition - settings.window + 1 : view.firstPosition();
    const auto visible = slicedView(view, begin, firstQueryPosition + q.size(1));
    // A window that takes in everything is none: the library has it in 32 bits, and some files
    // state more than fit there.
    std::optional<std::int64_t> windowLeft;
    if (settings.window > 0 && settings.window < visible.length())
        windowLeft = settings.window - 1;
    const FlashResult result =
        flash(q, joined(visible, &KVSegment::keys, q.scalar_type()),
              joined(visible, &KVSegment::values, q.scalar_type()), settings.scale, windowLeft);
    if (settings.sinks.defined()) {
        const at::Tensor share = (result.lse - settings.sinks.unsqueeze(1)).sigmoid_(); // [B, H, T]
        result.out.mul_(share.transpose(1, 2).unsqueeze(3));
    }
    return result.out;
}

} // namespace kvscope
