#pragma once

#include "engine/cache/cache_snapshot.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kvscope {

/// How the next token is chosen. Defaults as GPT-OSS-Lite's generate().
struct SamplingSettings
{
    std::int64_t maxNewTokens = 64;
    double temperature = 0.7; ///< <= 0: greedy, and no random number is drawn
    double topP = 0.9; ///< keep every token whose preceding mass is <= topP; negative is an error
    std::uint64_t seed = 0;
    bool stopsAtEndTokens = true; ///< false: --ignore-eos

    bool operator==(const SamplingSettings&) const = default;
};

enum class FinishReason { EndToken, MaxNewTokens, ContextFull, Cancelled, Failed };

/// One token that entered the context, from the prompt or generated.
struct TokenRecord
{
    std::int64_t id = 0;
    std::int64_t position = 0; ///< absolute
    std::string piece; ///< the token's bytes, made valid UTF-8 on its own: for tables and tooltips
    std::string
        text; ///< what it adds to the running text; may be empty while a character is unfinished
    double nll = -1.0;            ///< nats, given everything before; negative: not computed
    double stepSeconds = 0.0;     ///< decode only
    std::uint64_t cacheBytes = 0; ///< live, after the token's step
    bool isPrompt = false;
    bool isControl = false;
};

/// How far a prefill is.
struct PrefillProgress
{
    std::int64_t reusedTokens = 0; ///< already in the cache from an earlier turn
    std::int64_t doneTokens = 0;   ///< of this prefill, without the reused ones
    std::int64_t totalTokens = 0;
    double secondsElapsed = 0.0;
    double secondsLeft = 0.0; ///< estimated: later chunks attend to more
};

/// What a generation did, in full.
struct GenerationSummary
{
    FinishReason finish = FinishReason::MaxNewTokens;
    std::string text;                      ///< without end tokens
    std::vector<std::int64_t> ids;         ///< new tokens, an end token included
    std::vector<double> nll;               ///< one per new token
    std::vector<double> stepSeconds;       ///< one per new token
    std::vector<std::uint64_t> cacheBytes; ///< live bytes after each new token's step
    std::int64_t promptTokens = 0;
    std::int64_t reusedTokens = 0;
    std::int64_t prefilledTokens =
        0; ///< of the prompt, run in this generation; fewer than asked where cancelled
    double prefillSeconds = 0.0;
    double decodeSeconds = 0.0;
};

} // namespace kvscope
