#pragma once

#include "widgets/chat_message.h"

#include <QString>

#include <cstdint>
#include <vector>

namespace kvscope {

/// What the chat keeps of a token in the context; its index is its position.
struct ContextToken
{
    QString text;           ///< what it adds to the running text; a control token's name
    bool isControl = false; ///< <|im_start|> and the like
    double nll = -1.0;      ///< nats; negative: not computed
};

/// Where one message lies in the context.
struct MessageTokens
{
    std::int64_t first = -1; ///< position; -1: the message was not found in the prompt
    std::int64_t last = -1;
    std::vector<ChatTokenSpan> spans; ///< of the message's own text
};

/// A whole prompt, told apart into its messages.
struct PromptAlignment
{
    MessageTokens preamble; ///< what the template put before the first message; first is -1 without
    QString preambleText;   ///< its text, without control tokens and the role's name
    std::vector<MessageTokens> messages; ///< one for each message asked for
    std::int64_t answerFirst = 0;        ///< where the answer's turn is opened
};

/// Finds messages in the rendered prompt by their text, in order, so that any template serves. A
/// turn begins at its opening control token where there is one, otherwise at its text; turns leave
/// no gap between them. A message that the tokenizer altered is not found, and takes no tokens.
/// Linear in the prompt's length.
PromptAlignment alignMessages(const std::vector<ContextToken>& context,
                              const std::vector<ChatMessage>& messages);

} // namespace kvscope
