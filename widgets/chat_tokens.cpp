#include "widgets/chat_tokens.h"

#include <algorithm>

namespace kvscope {
namespace {

/// The prompt as one text, and where each token's characters end in it.
struct RunningText
{
    QString text;
    std::vector<qsizetype> ends;

    std::size_t tokenAt(qsizetype offset) const
    {
        return static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), offset) -
                                        ends.begin());
    }
};

RunningText joined(const std::vector<ContextToken>& context)
{
    RunningText running;
    qsizetype length = 0;
    for (const ContextToken& token : context)
        length += token.text.size();
    running.text.reserve(length);
    running.ends.reserve(context.size());
    for (const ContextToken& token : context) {
        running.text += token.text;
        running.ends.push_back(running.text.size());
    }
    return running;
}

QString nameOf(ChatRole role)
{
    switch (role) {
    case ChatRole::System:
        return QStringLiteral("system");
    case ChatRole::User:
        return QStringLiteral("user");
    case ChatRole::Assistant:
        break;
    }
    return QStringLiteral("assistant");
}

struct Found
{
    qsizetype begin = -1;
    qsizetype end = -1;
};

/// A message "user" must not be found in the role line "user\n", so the two are looked for together
/// first.
Found find(const RunningText& running, const ChatMessage& message, qsizetype from)
{
    const QString content = QString::fromStdString(message.content);
    if (content.isEmpty())
        return {};
    const QString header = nameOf(message.role) + u'\n';
    for (const QString& wanted : {content, content.trimmed()}) {
        if (const qsizetype at = running.text.indexOf(header + wanted, from); at >= 0)
            return {at + header.size(), at + header.size() + wanted.size()};
        if (const qsizetype at = running.text.indexOf(wanted, from); at >= 0 && !wanted.isEmpty())
            return {at, at + wanted.size()};
    }
    return {};
}

std::vector<ChatTokenSpan> spansOf(const RunningText& running,
                                   const std::vector<ContextToken>& context, Found found)
{
    std::vector<ChatTokenSpan> spans;
    for (std::size_t i = running.tokenAt(found.begin); i < context.size(); ++i) {
        const qsizetype end = std::min(running.ends[i], found.end) - found.begin;
        spans.push_back({end, static_cast<std::int64_t>(i), context[i].nll});
        if (running.ends[i] >= found.end)
            break;
    }
    return spans;
}

/// The token that opens the next turn, between the text of two turns: the first control token
/// closes the turn before, the second opens the next one; a lone one opens it.
std::size_t opening(const std::vector<ContextToken>& context, std::size_t begin, std::size_t end)
{
    std::size_t first = end;
    for (std::size_t i = begin; i < end; ++i) {
        if (!context[i].isControl)
            continue;
        if (first != end)
            return i;
        first = i;
    }
    return first;
}

/// The control token that opens the turn whose text begins at `begin`; `begin` where there is none.
/// A role's name between two control tokens belongs to the turn
/// (<|start_header_id|>user<|end_header_id|>).
std::size_t lastTurnBefore(const std::vector<ContextToken>& context, std::size_t begin)
{
    const auto controlBefore = [&context](std::size_t end) {
        while (end > 0 && !context[end - 1].isControl)
            --end;
        return end; // one past it, or 0
    };
    const std::size_t last = controlBefore(begin);
    if (last == 0)
        return begin;
    const std::size_t before = controlBefore(last - 1);
    QString name;
    for (std::size_t i = before; i + 1 < last; ++i)
        name += context[i].text;
    name = name.trimmed();
    const bool isName = name == nameOf(ChatRole::System) || name == nameOf(ChatRole::User) ||
                        name == nameOf(ChatRole::Assistant);
    return isName && before > 0 ? before - 1 : last - 1;
}

/// What stands before the first turn: a system text of the template's own, or nothing (a begin
/// token).
void splitPreamble(const std::vector<ContextToken>& context, std::size_t begin,
                   PromptAlignment& alignment, std::int64_t& firstTurn)
{
    const std::size_t turn = lastTurnBefore(context, begin);
    QString text;
    for (std::size_t i = 0; i < turn; ++i)
        if (!context[i].isControl)
            text += context[i].text;
    text = text.trimmed();
    firstTurn = 0;
    if (turn == begin || text.isEmpty())
        return;
    const QString header = nameOf(ChatRole::System) + u'\n';
    alignment.preambleText = text.startsWith(header) ? text.mid(header.size()) : text;
    alignment.preamble.first = 0;
    alignment.preamble.last = static_cast<std::int64_t>(turn) - 1;
    firstTurn = static_cast<std::int64_t>(turn);
}

/// The preamble's text with its tokens, which are known only now that the text is.
void spanPreamble(const RunningText& running, const std::vector<ContextToken>& context,
                  PromptAlignment& alignment)
{
    if (alignment.preamble.first < 0)
        return;
    const qsizetype at = running.text.indexOf(alignment.preambleText);
    if (at >= 0)
        alignment.preamble.spans =
            spansOf(running, context, {at, at + alignment.preambleText.size()});
}

} // namespace

PromptAlignment alignMessages(const std::vector<ContextToken>& context,
                              const std::vector<ChatMessage>& messages)
{
    const RunningText running = joined(context);
    PromptAlignment alignment;
    alignment.messages.resize(messages.size());
    qsizetype textEnd = 0;
    std::size_t tokenEnd = 0;
    MessageTokens* previous = nullptr;
    for (std::size_t m = 0; m < messages.size(); ++m) {
        const Found found = find(running, messages[m], textEnd);
        if (found.begin < 0)
            continue;
        MessageTokens& tokens = alignment.messages[m];
        tokens.spans = spansOf(running, context, found);
        const std::size_t begin = running.tokenAt(found.begin);
        if (previous == nullptr) {
            splitPreamble(context, begin, alignment, tokens.first);
        } else {
            tokens.first = static_cast<std::int64_t>(opening(context, tokenEnd, begin));
            previous->last = tokens.first - 1;
        }
        tokenEnd = static_cast<std::size_t>(tokens.spans.back().position) + 1;
        textEnd = found.end;
        previous = &tokens;
    }
    alignment.answerFirst = static_cast<std::int64_t>(opening(context, tokenEnd, context.size()));
    if (previous != nullptr)
        previous->last = alignment.answerFirst - 1;
    spanPreamble(running, context, alignment);
    return alignment;
}

} // namespace kvscope
