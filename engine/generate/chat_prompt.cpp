#include "engine/generate/chat_prompt.h"

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

std::size_t firstTurn(const std::vector<ChatMessage>& messages)
{
    return !messages.empty() && messages.front().role == ChatRole::System ? 1 : 0;
}

} // namespace

ChatPrompter::ChatPrompter(const Tokenizer& tokenizer, ChatTemplate chatTemplate,
                           std::optional<TokenId> beginToken)
    : m_tokenizer(tokenizer)
    , m_template(std::move(chatTemplate))
    , m_beginToken(beginToken)
{
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
        const std::vector<TokenId> spelled(made.ids.begin() + (m_beginToken ? 1 : 0),
                                           made.ids.end());
        const auto isKnown = [this](TokenId id) { return id < m_tokenizer.vocabularySize(); };
        if (std::all_of(spelled.begin(), spelled.end(), isKnown) &&
            m_tokenizer.decode(spelled) == made.text)
            return made;
    }
    made.ids = m_tokenizer.encode(made.text, ControlTokens::Parsed);
    if (m_beginToken)
        made.ids.insert(made.ids.begin(), *m_beginToken);
    return made;
}

std::optional<std::int64_t> ChatPrompter::messagesToDrop(const std::vector<ChatMessage>& messages,
                                                         std::int64_t limit) const
{
    const std::size_t first = firstTurn(messages);
    for (std::size_t next = first; next < messages.size(); ++next) {
        if (messages[next].role != ChatRole::User)
            continue; // an answer goes with its question
        const auto count = static_cast<std::int64_t>(next - first);
        if (static_cast<std::int64_t>(prompt(withoutOldest(messages, count), {}).ids.size()) <=
            limit)
            return count;
    }
    return std::nullopt;
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
