#pragma once

#include "engine/lab/positions.h"
#include "engine/lab/truncation_report.h"
#include "engine/model/decoder.h"
#include "engine/tokenizer/tokenizer.h"

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace kvscope {

/// At most `limit` of the ids: the first `keep`, then the newest that fit; the oldest behind the
/// kept beginning are dropped. Source: long-context chapter (truncate_keep_prefix).
/// \throws ArgumentError unless 0 <= keep <= limit
std::vector<TokenId> truncateKeepPrefix(std::span<const TokenId> ids, std::int64_t limit,
                                        std::int64_t keep);

/// How many tokens of a cache made for `before` are exactly valid for `after`: those before the
/// first that differs, since every later key and value has attended to what changed. Source:
/// long-context chapter (reusable_prefix_length).
std::int64_t reusablePrefixLength(std::span<const TokenId> before, std::span<const TokenId> after);

struct TruncationOptions
{
    std::int64_t keepTokens = 0;   ///< at least 0
    std::int64_t dropTokens = 0;   ///< at least 1; the prompt keeps two tokens behind them at least
    std::int64_t nextTokens = 128; ///< the text's last, scored behind the prompt
    std::int64_t chunkTokens = 512;
};

/// A copy of `cache` without positions [keep, keep + drop), as a runtime makes it that shifts its
/// context: later keys and values stay as they were computed, having attended to what is gone, and
/// their keys are rotated back by `drop` positions, so that a renumbered sequence goes on behind
/// them. \param reason  set where it cannot be made: a rotation that depends on the length, or a
/// ring that has lost positions which the cut brings into its window. Then the cache is empty.
MixedKVCache staleCache(const Decoder& decoder, const MixedKVCache& cache, std::int64_t keep,
                        std::int64_t drop, std::string& reason);

/// Loss of the text's last tokens behind the whole prompt, behind the cut prompt run anew, and
/// behind the cut prompt with stale keys and values kept. The prompt's last token is run with those
/// scored. Source: long-context chapter, exercise 5.
/// \throws ArgumentError for numbers that leave nothing to keep or to score; MemoryError; Stopped
TruncationReport measureTruncation(Decoder& decoder, std::span<const TokenId> ids,
                                   const TruncationOptions& options,
                                   const PositionsObserver& observer, std::stop_token stop);

} // namespace kvscope
