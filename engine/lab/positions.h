#pragma once

#include "engine/generate/generation.h"
#include "engine/lab/positions_report.h"
#include "engine/lab/positions_scheme.h"
#include "engine/model/decoder.h"
#include "engine/tokenizer/tokenizer.h"

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

namespace kvscope {

struct PositionsOptions
{
    std::int64_t chunkTokens = 512; ///< 0: one shot
    std::int64_t numBins = 0;       ///< of equal width; 0: the chapter's, see octaveEdges()
    /// Rotations that follow the length (dynamic) are made for the full one from the start, as if
    /// the text had been run in one; otherwise each chunk takes the length so far.
    bool isWhole = false;
};

/// What a run tells while it goes on; every member may be empty. Called on the running thread.
struct PositionsObserver
{
    std::function<void(const PrefillProgress&)> progressed; ///< after each chunk
    std::function<void(const ScoredPositions&)> scored;     ///< the chunk's losses
    std::function<void(const MixedKVCache&)> stepped;       ///< after each chunk: it grew
};

/// \throws ArgumentError for fewer than two tokens, or more than the model has learned positions
/// for
void requirePositionsRunnable(const Decoder& decoder, std::int64_t length);

/// nll of every token but the first against a cache that grows chunk by chunk, binned.
/// Source: long-context chapter, claim two (token_nll).
/// \throws ArgumentError as requirePositionsRunnable(); MemoryError, before anything is run;
/// Stopped
PositionsSeries measurePositions(Decoder& decoder, std::span<const TokenId> ids,
                                 const PositionsOptions& options, const PositionsObserver& observer,
                                 std::stop_token stop);

/// A series from losses that were kept: the same value as from measuring.
PositionsSeries positionsSeries(const ModelConfig& config, std::vector<double> nll,
                                const PositionsOptions& options);

/// The report; where there are two schemes, with their difference by the first one's bins.
/// \pre all of one text
PositionsReport positionsReport(std::vector<PositionsSeries> series);

/// Edges of the chapter's bins over `length` tokens: 0, then doubling up to the whole, the last
/// octave halved, a first bin of length/8 (length/16 from 8,192 on). 4,096 gives 0, 512, 1024,
/// 2048, 3072, 4096.
std::vector<std::int64_t> octaveEdges(std::int64_t length);
/// Edges of `count` bins as equal as whole positions allow. \pre count >= 1
std::vector<std::int64_t> equalEdges(std::int64_t length, std::int64_t count);

/// What scoreAgainst() is to run and to score.
struct ScoreRange
{
    std::int64_t chunkTokens = 512;  ///< 0: one shot
    std::int64_t plannedLength = 0;  ///< ForwardOptions::plannedLength
    std::int64_t firstScoredRow = 0; ///< losses before it are not computed
};

/// Runs `ids` behind what the cache holds, in chunks, and gives the nll of ids[i + 1] by row i,
/// from range.firstScoredRow on. \throws as Decoder::forward
std::vector<double> scoreAgainst(Decoder& decoder, MixedKVCache& cache,
                                 std::span<const TokenId> ids, const ScoreRange& range,
                                 const PositionsObserver& observer, const std::stop_token& stop);

} // namespace kvscope
