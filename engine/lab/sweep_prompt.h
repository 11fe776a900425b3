#pragma once

#include "engine/generate/chat_prompt.h"
#include "engine/lab/sweep_task.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace kvscope {

/// A trial's prompt as the model gets it.
struct SweepPrompt
{
    SweepSpot spot;
    SweepItem item;
    std::string text;                       ///< template included
    std::vector<TokenId> ids;               ///< of it
    std::vector<TokenId> answerIds;         ///< the right answer behind it
    std::vector<std::int64_t> needleTokens; ///< position of each statement's first token
    std::int64_t words = 0;                 ///< of the filler
};

/// How many words of filler a token holds at most, but where a tokenizer knows phrases as tokens.
inline constexpr std::int64_t kMostWordsOfToken = 2;

/// Makes prompts of a wanted length in one tokenizer's tokens. Of a long prompt each encoding takes
/// seconds, so that what is asked of it throws Stopped at a stop before the next one.
class SweepPrompter
{
public:
    /// \param task, tokenizer  outlive it
    /// \param answerRoom  tokens that belong to the length
    SweepPrompter(const SweepTask& task, const Tokenizer& tokenizer, ChatPrompter prompter,
                  std::int64_t answerRoom);

    const ChatTemplate& chatTemplate() const { return m_prompter.chatTemplate(); }
    std::int64_t answerRoom() const { return m_answerRoom; }

    /// The prompt with as much filler as its length allows: template, question and answer room
    /// included it is `spot.tokens` long or a few tokens less. Where the filler holds the answer,
    /// another stretch is taken.
    /// \throws ArgumentError where every stretch tried holds it, or the length has no room
    SweepPrompt prompt(const SweepSpot& spot, const std::stop_token& stop = {}) const;
    /// Positions that a spot takes at least, answer room included: those of its prompt without any
    /// filler, whether or not its words are given.
    std::int64_t fewestTokens(const SweepSpot& spot, const std::stop_token& stop = {}) const;
    /// Positions that it could take at most: with all the filler there is, or with the words that
    /// are given. Nothing where that has no end.
    std::optional<std::int64_t> mostTokens(const SweepSpot& spot,
                                           const std::stop_token& stop = {}) const;

private:
    /// Which prompt, and who may stop its making.
    struct Wish
    {
        const SweepSpot& spot;
        std::int64_t attempt = 0;
        const std::stop_token& stop;
    };

    TokenizedText tokenized(const SweepMessage& message, const std::stop_token& stop) const;
    std::int64_t tokensWith(std::int64_t words, const Wish& wish) const;
    std::int64_t wordsFor(const Wish& wish) const;
    std::int64_t fittingWords(const Wish& wish) const;
    SweepPrompt finished(const Wish& wish, const SweepMessage& message, TokenizedText text) const;
    std::vector<std::int64_t> statementTokens(const SweepItem& item, const std::string& text,
                                              std::size_t numIds,
                                              const std::stop_token& stop) const;
    std::vector<TokenId> answerIds(const SweepItem& item, const TokenizedText& prompt) const;

    const SweepTask& m_task;
    const Tokenizer& m_tokenizer;
    ChatPrompter m_prompter;
    std::int64_t m_answerRoom;
};

} // namespace kvscope
