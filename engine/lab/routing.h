#pragma once

#include "engine/lab/routing_report.h"
#include "engine/model/decoder.h"
#include "engine/tokenizer/tokenizer.h"

#include <stop_token>
#include <vector>

namespace kvscope {

/// Tokens that one measurement takes at most: the text runs in one piece.
inline constexpr std::int64_t kMostRoutingTokens = 131'072;

/// Runs a text through the model once, without a cache, and counts where its tokens went.
///
/// A sink's share is the probability mass on it, 1 - sigmoid(lse - sink), the sink as it is used
/// (clamped where the family does). It is computed beside the decoder's own attention, from the
/// residual stream before the layer, in float32.
/// \throws ArgumentError for a model that has neither experts nor sinks, for a text without a token
/// or with more than kMostRoutingTokens; as Decoder::forward
RoutingReport measureRouting(Decoder& decoder, const std::vector<TokenId>& ids,
                             std::stop_token stop = {});

} // namespace kvscope
