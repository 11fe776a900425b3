#pragma once

#include "engine/generate/generation.h"
#include "engine/lab/use_report.h"
#include "engine/model/decoder.h"
#include "engine/tokenizer/tokenizer.h"

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

namespace kvscope {

struct UseOptions
{
    std::int64_t numSegments = 8;
    std::int64_t chunkTokens = 512; ///< 0: a segment in one; no chunk crosses a segment's end
};

/// What a run tells while it goes on; every member may be empty. Called on the running thread.
struct UseObserver
{
    std::function<void(const PrefillProgress&)> progressed; ///< of the tokens of both passes
    std::function<void(const UseSegment&)> measured;        ///< as a segment's two losses are known
    std::function<void(const MixedKVCache&)> stepped;       ///< after each chunk: it grew
};

/// \throws ArgumentError for fewer than two segments or segments shorter than four tokens, or more
/// tokens than the model has learned positions for
void requireUseRunnable(const Decoder& decoder, std::int64_t length, const UseOptions& options);

/// Whether distant text lowers the loss: the same targets, each segment's second half, given the
/// whole text so far and given their segment alone. Both passes take the same chunks, so that in
/// segment 0 they are one computation and differ by exactly 0. Where a rotation is planned by
/// length (longrope), both are planned for the whole text.
/// Source: long-context chapter, claim five.
/// \param ids  the last ids.size() % numSegments are not used
/// \throws ArgumentError as requireUseRunnable(); MemoryError; Stopped
UseReport measureUse(Decoder& decoder, std::span<const TokenId> ids, const UseOptions& options,
                     const UseObserver& observer, std::stop_token stop);

/// One segment from its two lists of losses, equally long. \param firstTarget  absolute position
UseSegment useSegment(std::int64_t segment, std::int64_t firstTarget,
                      const std::vector<double>& whole, const std::vector<double>& alone);

/// Mean and interval of the segments' gains, the first segment left out. Segments are the sample:
/// the tokens of one share its subject and are no independent draws, and the interval over all of
/// them would be several times too narrow.
SampleMean pooledGain(const std::vector<UseSegment>& segments);

} // namespace kvscope
