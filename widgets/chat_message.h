#pragma once

#include "engine/generate/generation.h"
#include "engine/tokenizer/chat_template.h"

#include <QString>

#include <cstdint>
#include <vector>

namespace kvscope {

/// The conversation as the engine is given it: the system prompt, if any, first.
using ChatMessages = std::vector<ChatMessage>;

/// A text file handed in with a message. `text` is its content, read by the app.
struct ChatAttachment
{
    QString name;
    QString text;
    std::int64_t fileBytes = 0; ///< size on disk

    bool operator==(const ChatAttachment&) const = default;
};

/// One stretch of a message's text: typed, or an attached file.
struct ChatPart
{
    enum class Kind { Text, Attachment } kind = Kind::Text;
    qsizetype first = 0; ///< offset into ChatRow::text, UTF-16 units
    qsizetype length = 0;
    QString name;               ///< of an attachment
    std::int64_t fileBytes = 0; ///< of an attachment

    bool operator==(const ChatPart&) const = default;
};

/// A token's characters in a message's text: from the end of the span before it to `end`.
struct ChatTokenSpan
{
    qsizetype end = 0;         ///< UTF-16 units
    std::int64_t position = 0; ///< absolute
    double nll = -1.0;         ///< nats; negative: not computed

    bool operator==(const ChatTokenSpan&) const = default;
};

enum class ChatRowState {
    Complete, ///< nothing more will come
    Waiting,  ///< the answer's prompt is being read
    Writing,  ///< tokens arrive
    Stopped,  ///< ended by the user; the text is what there was
    Failed,   ///< ended by an error; the text is what there was
};

/// A message as the chat shows it.
struct ChatRow
{
    ChatRole role = ChatRole::User;
    QString text;                ///< exactly what the model is given, or gave
    std::vector<ChatPart> parts; ///< what of it is shown, in order; empty: all of it
    ChatRowState state = ChatRowState::Complete;
    FinishReason finish = FinishReason::EndToken; ///< of an answer that is Complete
    std::int64_t firstToken =
        -1; ///< position, its role line's tokens included; -1: not in the context
    std::int64_t lastToken = -1;
    std::vector<ChatTokenSpan> spans; ///< ordered by end and by position
    std::int64_t newTokens = 0;       ///< of an answer: generated so far
    double decodeSeconds = 0.0;       ///< of an answer
    double tokensPerSecond = 0.0;     ///< of an answer being written: over the last second
    std::uint64_t seed = 0;           ///< of an answer
    bool isTemplates = false;      ///< a system text that the chat template put there, not the user
    bool isDropped = false;        ///< no longer in the context
    std::int64_t droppedAbove = 0; ///< messages left out just before this one, to be said above it

    /// The span that holds the character at `offset`, or null.
    const ChatTokenSpan* spanAt(qsizetype offset) const;
    /// The characters [first, second) of the token at `position`; empty where it has none here.
    std::pair<qsizetype, qsizetype> charactersOf(std::int64_t position) const;
    bool operator==(const ChatRow&) const = default;
};

} // namespace kvscope
