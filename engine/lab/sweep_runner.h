#pragma once

#include "engine/generate/generator.h"
#include "engine/lab/sweep_prompt.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace kvscope {

/// What came of a prompt.
struct SweepOutcome
{
    std::string answer;
    std::vector<AnswerToken> answerTokens;
    std::int64_t reusedTokens = 0;
    double prefillSeconds = 0.0;
    double seconds = 0.0; ///< all of it
    bool isDisturbed = false;
};

/// Asks a decoder prompt after prompt, greedily, and keeps what they share.
///
/// What two prompts have in common is prefilled once, rounded down to whole chunks, so that every
/// prompt is run in the same chunks whether or not something is reused: results are equal to the
/// bit. Global layers are cut back; rings cannot be, so where a model has them the cache is copied
/// at the place up to which the next prompt agrees, if memory allows it. Where keys are rotated for
/// their prompt's length (dynamic, longrope), prompts of different lengths share nothing.
/// Owned by one thread; not thread-safe.
class SweepRunner
{
public:
    struct Settings
    {
        std::vector<TokenId> endTokens;
        std::int64_t answerRoom = 0;   ///< tokens
        std::int64_t chunkTokens = 0;  ///< 0: one shot, and nothing is reused
        std::int64_t contextLimit = 0; ///< positions; 0: no limit
    };

    /// \param decoder, tokenizer  outlive it
    SweepRunner(Decoder& decoder, const Tokenizer& tokenizer, Settings settings);

    /// \param next  the prompt that comes after this one, where it is known; see wantsNext()
    /// \throws Stopped, MemoryError
    SweepOutcome run(const SweepPrompt& prompt, const SweepPrompt* next,
                     const GenerationObserver& observer, const std::stop_token& stop);
    /// Whether knowing the next prompt helps.
    bool wantsNext() const { return m_keepsCopies; }
    /// How many tokens are reused of so many that a prompt shares with the one before. 0 also for
    /// rings that are not copied.
    std::int64_t reusable(std::int64_t sharedTokens) const;

    const Context& context() const { return m_context; }

private:
    std::int64_t wholeChunks(std::int64_t tokens) const;
    std::int64_t sharedTokens(const std::vector<TokenId>& a, const std::vector<TokenId>& b) const;
    bool rotatesAlike(std::int64_t promptTokens, std::int64_t others) const;
    void takeShared(const SweepPrompt& prompt);
    void keepCopy(std::int64_t tokens);
    bool copyFits() const;
    std::vector<AnswerToken> scoredAnswer(const SweepPrompt& prompt, const std::stop_token& stop);

    Decoder& m_decoder;
    const Tokenizer& m_tokenizer;
    Settings m_settings;
    bool m_hasWindows;
    bool m_keepsCopies;
    bool m_rotatesByLength;
    Context m_context;
    std::int64_t m_rotatedFor = 0; ///< length of the prompt that the context holds
    std::optional<Context> m_kept; ///< of a prompt's beginning
    std::int64_t m_keptRotatedFor = 0;
};

} // namespace kvscope
