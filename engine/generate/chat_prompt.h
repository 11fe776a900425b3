#pragma once

#include "engine/tokenizer/chat_template.h"
#include "engine/tokenizer/tokenizer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvscope {

/// Text and the ids it became: what a context holds of a chat, kept so that the next turn's ids
/// begin with exactly these (encoding the answer's text again could split it otherwise).
struct TokenizedText
{
    std::string text;
    std::vector<TokenId> ids;
};

/// Renders conversations into prompts with one tokenizer and template.
class ChatPrompter
{
public:
    /// \param beginToken  put before every prompt where set (the file asks for BOS), unless the
    ///        template writes it itself
    ChatPrompter(const Tokenizer& tokenizer, ChatTemplate chatTemplate,
                 std::optional<TokenId> beginToken);

    const ChatTemplate& chatTemplate() const { return m_template; }

    /// The prompt for the model's answer to the last message.
    /// \param known  text and ids of the last turn with its answer; where the new prompt's text
    /// begins with it,
    ///        its ids are kept
    /// \throws TokenizerError where the template refuses the conversation
    TokenizedText prompt(const std::vector<ChatMessage>& messages,
                         const TokenizedText& known) const;

    /// The fewest of the oldest turns to leave out so that the prompt has at most `limit` tokens:
    /// the system message and the last message always stay, and an answer goes with its question.
    /// Counted in messages; nothing where even the last message alone is longer.
    std::optional<std::int64_t> messagesToDrop(const std::vector<ChatMessage>& messages,
                                               std::int64_t limit) const;

    /// `messages` without the `count` oldest after the system message.
    static std::vector<ChatMessage> withoutOldest(const std::vector<ChatMessage>& messages,
                                                  std::int64_t count);

private:
    bool writesBeginToken(const std::string& text) const;

    const Tokenizer& m_tokenizer;
    ChatTemplate m_template;
    std::optional<TokenId> m_beginToken;
};

/// What a checkpoint's template needs to know of `tokenizer`, which may be another than its own.
ChatVocabulary chatVocabulary(const Tokenizer& tokenizer, const TokenizerSource& source);

/// The prompter that a checkpoint's source asks for. \param tokenizer  outlives it
ChatPrompter makeChatPrompter(const Tokenizer& tokenizer, const TokenizerSource& source);

} // namespace kvscope
