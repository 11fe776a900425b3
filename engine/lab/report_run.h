#pragma once

#include "engine/lab/report_card.h"
#include "engine/lab/sweep_request.h"
#include "engine/model/decoder.h"
#include "engine/tokenizer/tokenizer.h"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace kvscope {

/// What a card measures.
struct CardRunOptions
{
    std::int64_t tokens = 0; ///< 0: what the model is made for, at most 2,048 where quick
    double limitSeconds = kCardLimitSeconds;
    bool isQuick = false; ///< fewer lengths, one repeat: minutes instead of an hour
    std::int64_t chunkTokens = 512;
    std::uint64_t seed = 0;
    std::int64_t contextLimit = 0; ///< positions that may be used; 0: no limit
};

/// What a run tells while it goes on; every member may be empty. Called on the running thread, at
/// moments when nothing is timed.
struct CardObserver
{
    std::function<void(CardPart)> begun;
    std::function<void(const std::string& row)> told; ///< each row of the part, or its refusal
    std::function<void(double share)> progressed;     ///< of the part
    std::function<void(const MixedKVCache&)> stepped; ///< it grew
};

/// The length that a card is about, where none is asked for.
std::int64_t usualCardTokens(const ModelConfig& config, bool isQuick);

/// The lengths of peak memory and first tokens: the card's and its halves, shortest first.
std::vector<std::int64_t> cardLengths(const CardRunOptions& options, std::int64_t tokens);

/// Model, length, the arithmetic against a budget, and the file's facts: what a card says before
/// anything is measured.
/// \param cache  what its keys and values are stored as
/// \param budgetBytes  for weights and cache together; 0: not known
CardEvidence cardSubject(const Checkpoint& checkpoint, const CardRunOptions& options,
                         const CacheNumbers& cache, std::uint64_t budgetBytes);
/// "Made: kvscope 0.1, 2026-11-30".
CardNote madeNote(const std::string& version);

/// The needle search of a card: the length and its halves; three facts, two lengths and three
/// depths where quick, else twelve, four and five. Where quick, a cell that is undecided gets up to
/// nine trials: with three a length could never pass.
SweepRequest cardNeedles(const CardRunOptions& options, std::int64_t tokens);

/// Measures the parts that `evidence` does not have: peak memory, first tokens and decode steps,
/// loss by position and with the past cut off, the last two on the built-in text. What does not fit
/// is skipped with its reason, and then the longer parts are not tried at that length. A part that
/// refuses is among CardEvidence::refusals, and the others are measured all the same.
/// \param tokenizer  null: without text there is neither loss by position nor use
/// \throws Stopped
void measureCard(CardEvidence& evidence, Decoder& decoder, const Tokenizer* tokenizer,
                 const CardRunOptions& options, const CardObserver& observer, std::stop_token stop);

} // namespace kvscope
