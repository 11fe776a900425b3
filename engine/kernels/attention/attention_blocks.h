#pragma once

#include "engine/kernels/attention/attention.h"

namespace kvscope {

/// The positions [begin, end) of a view, without a copy.
KVView slicedView(const KVView& view, std::int64_t begin, std::int64_t end);

/// attentionReference() over as many queries at a time as keep the scores below `scoreBytes`, and
/// over no more keys than these can see. The path where there is no kernel, on any device.
at::Tensor attentionInBlocks(const at::Tensor& q, const KVView& view,
                             std::int64_t firstQueryPosition, const AttentionSettings& settings,
                             std::int64_t scoreBytes = std::int64_t{256} << 20);

} // namespace kvscope
