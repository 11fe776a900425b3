#pragma once

#include "engine/generate/chat_prompt.h"
#include "engine/lab/sweep_task.h"

#include <cstdint>
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

/// Makes prompts of a wanted length in one tokenizer's tokens.
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
    SweepPrompt prompt(const SweepSpot& spot) const;
    /// Tokens of the longest prompt without any filler, answer room included.
    std::int64_t fewestTokens(std::int64_t tokens, std::int64_t numItems) const;

private:
    TokenizedText tokenized(const SweepMessage& message) const;
    std::int64_t fittingWords(const SweepSpot& spot, std::int64_t attempt) const;
    SweepPrompt finished(const SweepSpot& spot, const SweepMessage& message) const;

    const SweepTask& m_task;
    const Tokenizer& m_tokenizer;
    ChatPrompter m_prompter;
    std::int64_t m_answerRoom;
};

} // namespace kvscope
