#include "engine/generate/chat_prompt.h"

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

std::size_t firstTurn(const std::vector<ChatMessage>& messages)
{
    return !messages.empty() && messages.front().role == ChatRole::System ? 1 : 0;
}

/// The text of a token, or nothing where the tokenizer does not know it.
std::string pieceOf(const Tokenizer& tokenizer, std::optional<TokenId> id)
{
    return id && *id >= 0 && *id < tokenizer.vocabularySize() ? tokenizer.piece(*id)
                                                              : std::string();
}

} // namespace

ChatVocabulary chatVocabulary(const Tokenizer& tokenizer, const TokenizerSource& source)
{
    ChatVocabulary vocabulary;
    vocabulary.hasChatMlTokens =
        tokenizer.controlToken("<|im_start|>") && tokenizer.controlToken("<|im_end|>");
    vocabulary.beginToken = pieceOf(tokenizer, source.beginToken);
    if (!source.endTokens.empty())
        vocabulary.endToken = pieceOf(tokenizer, source.endTokens.front());
    return vocabulary;
}

ChatPrompter makeChatPrompter(const Tokenizer& tokenizer, const TokenizerSource& source)
{
    const bool hasBegin = source.addsBeginToken && source.beginToken &&
                          *source.beginToken < tokenizer.vocabularySize();
    return {tokenizer, ChatTemplate(source.chatTemplate, chatVocabulary(tokenizer, source)),
            hasBegin ? source.beginToken : std::nullopt};
}

ChatPrompter::ChatPrompter(const Tokenizer& tokenizer, ChatTemplate chatTemplate,
                           std::optional<TokenId> beginToken)
    : m_tokenizer(tokenizer)
    , m_template(std::move(chatTemplate))
    , m_beginToken(beginToken)
{
}

bool ChatPrompter::writesBeginToken(const std::string& text) const
{
    return text.starts_with(m_tokenizer.piece(*m_beginToken));
}

TokenizedText ChatPrompter::prompt(const std::vector<ChatMessage>& messages,
                                   const TokenizedText& known) const
{
    TokenizedText made;
    made.text = m_template.render(messages, ChatTemplate::Ending::AssistantOpened);
    if (!known.ids.empty() && made.text.starts_with(known.text)) {
        made.ids = known.ids;
        const auto rest =
            m_tokenizer.encode(made.text.substr(known.text.size()), ControlTokens::Parsed);
        made.ids.insert(made.ids.end(), rest.begin(), rest.end());
        // A tokenizer that puts a space before every text (sentencepiece) cannot continue one.
        const bool isBeginAdded = m_beginToken && !writesBeginToken(made.text);
        const std::vector<TokenId> spelled(made.ids.begin() + (isBeginAdded ? 1 : 0),
                                           made.ids.end());
        if (m_tokenizer.decode(spelled) == made.text)
            return made;
    }
    made.ids = m_tokenizer.encode(made.text, ControlTokens::Parsed);
    // Many templates write BOS themselves; twice would be a prompt that no model was trained on.
    if (m_beginToken && (made.ids.empty() || made.ids.front() != *m_beginToken))
        made.ids.insert(made.ids.begin(), *m_beginToken);
    return made;
}

std::optional<std::int64_t> ChatPrompter::messagesToDrop(const std::vector<ChatMessage>& messages,
                                                         std::int64_t limit) const
{
    const std::size_t first = firstTurn(messages);
    std::vector<std::int64_t> counts; // an answer goes with its question
    for (std::size_t next = first; next < messages.size(); ++next) {
        if (messages[next].role == ChatRole::User)
            counts.push_back(static_cast<std::int64_t>(next - first));
    }
    const auto isTooLong = [&](std::int64_t count) {
        const auto ids = prompt(withoutOldest(messages, count), {}).ids;
        return static_cast<std::int64_t>(ids.size()) > limit;
    };
    // The more is left out the shorter it is, and each try encodes all that is left.
    const auto found = std::partition_point(counts.begin(), counts.end(), isTooLong);
    return found == counts.end() ? std::nullopt : std::optional(*found);
}

std::vector<ChatMessage> ChatPrompter::withoutOldest(const std::vector<ChatMessage>& messages,
                                                     std::int64_t count)
{
    std::vector<ChatMessage> kept = messages;
    const auto begin = kept.begin() + static_cast<std::ptrdiff_t>(firstTurn(messages));
    kept.erase(begin, begin + count);
    return kept;
}

} // namespace kvscope
