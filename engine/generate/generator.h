#pragma once

#include "engine/cache/mixed_kv_cache.h"
#include "engine/generate/generation.h"
#include "engine/model/decoder.h"
#include "engine/tokenizer/tokenizer.h"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

namespace kvscope {

/// A decoder's cache together with the ids it holds, so that the next prompt reuses their common
/// prefix.
class Context
{
public:
    explicit Context(MixedKVCache cache)
        : m_cache(std::move(cache))
    {
    }

    const std::vector<TokenId>& ids() const { return m_ids; }
    MixedKVCache& cache() { return m_cache; }
    const MixedKVCache& cache() const { return m_cache; }

    /// Cuts back to the longest prefix shared with `prompt` that the cache can give exactly,
    /// leaving at least the prompt's last token to run (its logits are wanted). \returns how many
    /// tokens stay.
    std::int64_t reusePrefix(const std::vector<TokenId>& prompt);
    /// Notes how long the sequence may become, and empties the context where its keys were made for
    /// a length that rotates otherwise (longrope).
    void plan(const Decoder& decoder, std::int64_t length);
    std::int64_t plannedLength() const { return m_plannedLength; }
    /// Notes ids whose keys and values were just committed.
    void add(const TokenId* first, std::int64_t count)
    {
        m_ids.insert(m_ids.end(), first, first + count);
    }
    void reset();

private:
    MixedKVCache m_cache;
    std::vector<TokenId> m_ids;
    std::int64_t m_plannedLength = 0; ///< tokens
};

struct GenerationRequest
{
    std::vector<TokenId> prompt; ///< not empty
    SamplingSettings sampling;
    std::vector<TokenId> endTokens; ///< any of them ends the generation
    std::int64_t chunkTokens = 512; ///< prefill chunk; 0: the prompt in one
    std::int64_t contextLimit = 0;  ///< positions that may be used; 0: no limit
    bool usesCache = true;     ///< false: every step replays the whole prefix by plain operators
    bool scoresPrompt = false; ///< nll of every prompt position too
};

/// What a generation tells while it runs; every member may be empty. Called on the engine thread.
struct GenerationObserver
{
    std::function<void(const PrefillProgress&)> prefilled; ///< after each chunk
    std::function<void(std::int64_t firstPosition, const std::vector<double>& nll)> promptScored;
    std::function<void(const TokenRecord&)> generated;
    std::function<void()> stepped; ///< after every chunk and decode step: the cache changed
};

/// Tokens that the sequence may have in the end, which Context::plan() is told.
std::int64_t plannedLength(const Decoder& decoder, const GenerationRequest& request);

/// Prefill in chunks, then decode until an end token, the number asked for, the context limit, or a
/// stop.
///
/// \param context  reused and extended; cut back by Context::reusePrefix first. If stopped it holds
/// whole
///        chunks and steps only.
/// \param tokenizer  null: pieces and text stay empty
/// \throws ArgumentError for an empty prompt or an id outside the vocabulary; MemoryError, before
/// any change,
///         with both numbers, if the cache for the prompt would not fit
GenerationSummary generate(Decoder& decoder, Context& context, const Tokenizer* tokenizer,
                           const GenerationRequest& request, const GenerationObserver& observer,
                           std::stop_token stop);

/// Bytes the cache of `numTokens` positions takes, with the room a growing array needs while it is
/// copied.
std::uint64_t cacheBytesNeeded(const MixedKVCache& cache, std::int64_t numTokens);

/// \throws MemoryError with both numbers where `numTokens` positions do not fit the free memory.
void requireCacheFits(const Decoder& decoder, const MixedKVCache& cache, std::int64_t numTokens);

} // namespace kvscope
