#pragma once

#include "engine/lab/report_card.h"
#include "engine/lab/sweep_request.h"
#include "engine/model/decoder.h"
#include "engine/tokenizer/tokenizer.h"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace kvscope {

/// What a card measures.
struct CardRunOptions
{
    std::int64_t tokens = 0; ///< 0: what the model is made for, at most 2,048 where quick
    double limitSeconds = kCardLimitSeconds;
    bool isQuick = false; ///< fewer lengths, one repeat: minutes instead of an hour
    std::int64_t chunkTokens = 512;
    std::uint64_t seed = 0;
};

/// Told one line before each part and each row; may be empty. Called on the running thread.
using CardObserver = std::function<void(const std::string& line)>;

/// The length that a card is about, where none is asked for.
std::int64_t usualCardTokens(const ModelConfig& config, bool isQuick);

/// Model, length, the arithmetic against the memory that is free now, and the file's facts: what a
/// card says before anything is measured. \param cacheElementBytes  of a cached element
CardEvidence cardSubject(const Checkpoint& checkpoint, const CardRunOptions& options,
                         std::int64_t cacheElementBytes);

/// The needle search of a card: the length and its halves; three facts, two lengths and three
/// depths where quick, else twelve, four and five.
SweepRequest cardNeedles(const CardRunOptions& options, std::int64_t tokens);

/// Measures the parts that `evidence` does not have: peak memory, first tokens and decode steps,
/// loss by position and with the past cut off, the last two on the built-in text. What does not fit
/// is skipped with its reason, and then the longer parts are not tried at that length.
/// \param tokenizer  null: without text there is neither loss by position nor use
/// \throws Stopped, ArgumentError
void measureCard(CardEvidence& evidence, Decoder& decoder, const Tokenizer* tokenizer,
                 const CardRunOptions& options, const CardObserver& observer, std::stop_token stop);

} // namespace kvscope
