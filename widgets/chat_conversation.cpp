#include "widgets/chat_conversation.h"

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

ContextToken contextToken(const TokenRecord& token)
{
    const std::string& text = token.text.empty() && token.isControl ? token.piece : token.text;
    return {QString::fromStdString(text), token.isControl, token.nll};
}

/// The text the model is given for a turn, and which parts of it are shown as what.
ChatRow userRow(const QString& text, const std::vector<ChatAttachment>& attachments)
{
    ChatRow row;
    row.role = ChatRole::User;
    for (const ChatAttachment& attachment : attachments) {
        if (!row.text.isEmpty())
            row.text += QStringLiteral("\n\n");
        row.text += attachment.name + QStringLiteral(":\n");
        row.parts.push_back({ChatPart::Kind::Attachment, row.text.size(), attachment.text.size(),
                             attachment.name, attachment.fileBytes});
        row.text += attachment.text;
    }
    if (!attachments.empty() && !text.isEmpty()) {
        row.text += QStringLiteral("\n\n");
        row.parts.push_back({ChatPart::Kind::Text, row.text.size(), text.size(), {}, 0});
    }
    row.text += text;
    return row;
}

} // namespace

ChatMessages ChatConversation::messages() const
{
    ChatMessages messages;
    for (const ChatRow& row : m_model.rows())
        if (!row.isTemplates && !row.text.isEmpty())
            messages.push_back({row.role, row.text.toStdString()});
    return messages;
}

bool ChatConversation::hasSystemRow() const
{
    return m_model.rowCount() > 0 && m_model.row(0).role == ChatRole::System;
}

void ChatConversation::setSystemPrompt(const QString& text)
{
    const bool isOurs = hasSystemRow() && !m_model.row(0).isTemplates;
    if (text.isEmpty()) {
        if (isOurs)
            m_model.removeMessage(0);
        return;
    }
    if (isOurs && m_model.row(0).text == text)
        return;
    ChatRow row;
    row.role = ChatRole::System;
    row.text = text;
    if (hasSystemRow())
        m_model.setMessage(0, std::move(row));
    else
        m_model.insertMessage(0, std::move(row));
}

void ChatConversation::addTurn(const QString& text, const std::vector<ChatAttachment>& attachments,
                               std::uint64_t seed)
{
    m_turn = {text, attachments};
    m_oldAnswer.reset();
    m_model.appendMessage(userRow(text, attachments));
    openAnswer(seed);
}

void ChatConversation::openAnswer(std::uint64_t seed)
{
    ChatRow answer;
    answer.role = ChatRole::Assistant;
    answer.state = ChatRowState::Waiting;
    answer.seed = seed;
    m_model.appendMessage(std::move(answer));
    m_isRunning = true;
}

bool ChatConversation::canRegenerate() const
{
    return !m_isRunning && m_model.rowCount() > 0 &&
           m_model.rows().back().role == ChatRole::Assistant;
}

bool ChatConversation::hasTurns() const
{
    return m_model.rowCount() > (hasSystemRow() ? 1 : 0);
}

void ChatConversation::dropAnswer(std::uint64_t seed)
{
    m_oldAnswer = m_model.rows().back();
    m_model.removeMessage(answerRow());
    openAnswer(seed);
}

void ChatConversation::clear()
{
    m_isRunning = false;
    m_context.clear();
    m_oldAnswer.reset();
    m_turn = {};
    std::optional<ChatRow> system;
    if (hasSystemRow() && !m_model.row(0).isTemplates)
        system = m_model.row(0);
    m_model.clear();
    if (system) {
        ChatRow row;
        row.role = ChatRole::System;
        row.text = system->text;
        m_model.appendMessage(std::move(row));
    }
}

void ChatConversation::generationStarted(const GenerationStarted& event)
{
    if (!m_isRunning)
        return;
    m_context.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, event.keptTokens)));
    m_context.reserve(m_context.size() + event.prompt.size());
    for (const TokenRecord& token : event.prompt)
        m_context.push_back(contextToken(token));
    align(event.droppedMessages);
}

qsizetype ChatConversation::sentFrom(const ChatRow& row) const
{
    if (row.role != ChatRole::Assistant)
        return 0;
    const QString opening = QString::fromStdString(m_answerOpening);
    const qsizetype at = opening.isEmpty() ? -1 : row.text.lastIndexOf(opening);
    return at < 0 ? 0 : at + opening.size();
}

/// Says of every message which positions hold it.
void ChatConversation::align(std::int64_t droppedMessages)
{
    std::vector<int> rows;         // those that are in the prompt
    std::vector<qsizetype> begins; // where in their text that begins which is sent
    ChatMessages sent;
    std::int64_t turn = 0;
    for (int i = 0; i < answerRow(); ++i) {
        ChatRow row = m_model.row(i);
        if (row.isTemplates)
            continue;
        const bool isTurn = row.role != ChatRole::System && !row.text.isEmpty();
        row.isDropped = isTurn && turn < droppedMessages;
        row.droppedAbove = isTurn && turn == droppedMessages ? droppedMessages : 0;
        turn += isTurn ? 1 : 0;
        if (row.isDropped) {
            row.firstToken = row.lastToken = -1;
            row.spans.clear();
        } else if (!row.text.isEmpty()) {
            rows.push_back(i);
            begins.push_back(sentFrom(row));
            sent.push_back({row.role, row.text.mid(begins.back()).toStdString()});
        }
        m_model.setMessage(i, std::move(row));
    }
    PromptAlignment alignment = alignMessages(m_context, sent);
    for (std::size_t m = 0; m < rows.size(); ++m) {
        ChatRow row = m_model.row(rows[m]);
        row.firstToken = alignment.messages[m].first;
        row.lastToken = alignment.messages[m].last;
        row.spans = std::move(alignment.messages[m].spans);
        for (ChatTokenSpan& span : row.spans)
            span.end += begins[m];
        m_model.setMessage(rows[m], std::move(row));
    }
    ChatRow answer = m_model.row(answerRow());
    answer.firstToken = alignment.answerFirst;
    answer.lastToken = static_cast<std::int64_t>(m_context.size()) - 1;
    m_model.setMessage(answerRow(), std::move(answer));
    showPreamble(alignment);
}

/// A template may add a system text of its own. It takes positions, so it is shown.
void ChatConversation::showPreamble(const PromptAlignment& alignment)
{
    const bool isShown = hasSystemRow() && m_model.row(0).isTemplates;
    if (hasSystemRow() && !isShown)
        return;
    if (alignment.preamble.first < 0) {
        if (isShown)
            m_model.removeMessage(0);
        return;
    }
    ChatRow row;
    row.role = ChatRole::System;
    row.isTemplates = true;
    row.text = alignment.preambleText;
    row.firstToken = alignment.preamble.first;
    row.lastToken = alignment.preamble.last;
    row.spans = alignment.preamble.spans;
    if (isShown)
        m_model.setMessage(0, std::move(row));
    else
        m_model.insertMessage(0, std::move(row));
}

void ChatConversation::promptScored(const PromptScored& event)
{
    for (std::size_t i = 0; i < event.nll.size(); ++i) {
        const auto position = static_cast<std::size_t>(event.firstPosition) + i;
        if (event.firstPosition >= 0 && position < m_context.size())
            m_context[position].nll = event.nll[i];
    }
    m_model.setLosses(event.firstPosition, event.nll);
}

void ChatConversation::tokenGenerated(const TokenRecord& token)
{
    if (!m_isRunning)
        return;
    // An end token has a name but no text: it closes the turn and is not part of what was said.
    const QString text = QString::fromStdString(token.text);
    m_context.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, token.position)));
    m_context.push_back(contextToken(token));
    if (m_model.rows().back().state == ChatRowState::Waiting) {
        ChatRow answer = m_model.rows().back();
        answer.state = ChatRowState::Writing;
        m_model.setMessage(answerRow(), std::move(answer));
    }
    m_model.appendToken(text, {0, token.position, token.nll});
}

void ChatConversation::setRate(double tokensPerSecond)
{
    if (!m_isRunning || m_model.rows().back().state != ChatRowState::Writing)
        return;
    ChatRow answer = m_model.rows().back();
    answer.tokensPerSecond = tokensPerSecond;
    m_model.setMessage(answerRow(), std::move(answer));
}

std::optional<ChatConversation::TakenBack>
ChatConversation::generationFinished(const GenerationSummary& summary)
{
    if (!m_isRunning)
        return std::nullopt;
    const bool isWhole =
        summary.finish == FinishReason::EndToken || summary.finish == FinishReason::MaxNewTokens;
    ChatRow answer = m_model.rows().back();
    if (answer.newTokens == 0 && summary.ids.empty() && !isWhole)
        return takeBack();
    m_isRunning = false;
    const QString text = QString::fromStdString(summary.text);
    if (text != answer.text) { // what waited for the rest of a character
        answer.text = text;
        for (ChatTokenSpan& span : answer.spans)
            span.end = std::min(span.end, text.size());
        if (!answer.spans.empty())
            answer.spans.back().end = text.size();
    }
    answer.state = summary.finish == FinishReason::Cancelled ? ChatRowState::Stopped
                   : summary.finish == FinishReason::Failed  ? ChatRowState::Failed
                                                             : ChatRowState::Complete;
    answer.finish = summary.finish;
    answer.decodeSeconds = summary.decodeSeconds;
    answer.newTokens = static_cast<std::int64_t>(summary.ids.size());
    m_model.setMessage(answerRow(), std::move(answer));
    return std::nullopt;
}

std::optional<ChatConversation::TakenBack> ChatConversation::generationFailed()
{
    if (!m_isRunning)
        return std::nullopt;
    if (m_model.rows().back().newTokens == 0)
        return takeBack();
    m_isRunning = false;
    ChatRow answer = m_model.rows().back();
    answer.state = ChatRowState::Failed;
    answer.finish = FinishReason::Failed;
    m_model.setMessage(answerRow(), std::move(answer));
    return std::nullopt;
}

std::optional<ChatConversation::TakenBack> ChatConversation::takeBack()
{
    m_isRunning = false;
    m_model.removeMessage(answerRow());
    if (m_oldAnswer) {
        m_model.appendMessage(*std::exchange(m_oldAnswer, std::nullopt));
        return std::nullopt;
    }
    m_model.removeMessage(answerRow()); // the user's turn, which is the last row now
    return std::exchange(m_turn, {});
}

} // namespace kvscope
