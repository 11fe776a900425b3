#include "engine/kernels/attention/attention_blocks.h"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace kvscope {

KVView slicedView(const KVView& view, std::int64_t begin, std::int64_t end)
{
    KVView result;
    for (std::size_t i = 0; i < view.numSegments; ++i) {
        const auto& segment = view.segments[i];
        const auto from = std::max(begin, segment.firstPosition);
        const auto length = std::min(end, segment.firstPosition + segment.length()) - from;
        if (length <= 0)
            continue;
        const auto skipped = from - segment.firstPosition;
        result.add({segment.keys.narrow(2, skipped, length),
                    segment.values.narrow(2, skipped, length), from});
    }
    return result;
}

at::Tensor attentionInBlocks(const at::Tensor& q, const KVView& view,
                             std::int64_t firstQueryPosition, const AttentionSettings& settings,
                             std::int64_t scoreBytes)
{
    const auto numTokens = q.size(1);
    const auto bytesPerQuery =
        q.size(0) * q.size(2) * view.length() * static_cast<std::int64_t>(sizeof(float));
    const auto blockTokens = std::clamp<std::int64_t>(scoreBytes / bytesPerQuery, 1, numTokens);
    auto out = at::empty(q.sizes(), q.options());
    for (std::int64_t t = 0; t < numTokens; t += blockTokens) {
        const auto count = std::min(blockTokens, numTokens - t);
        const auto first = firstQueryPosition + t;
        const auto begin = settings.window > 0 ? first - settings.window + 1 : view.firstPosition();
        const auto visible = slicedView(view, begin, first + count);
        out.narrow(1, t, count)
            .copy_(attentionReference(q.narrow(1, t, count), visible, first, settings));
    }
    return out;
}

} // namespace kvscope
