#include "widgets/chat_legend.h"
#include "widgets/chat_panel.h"
#include "widgets/composer.h"
#include "widgets/message_bar.h"
#include "widgets/message_bar_question.h"
#include "widgets/number_format.h"
#include "widgets/progress_strip.h"
#include "widgets/prompt_viewer.h"

#include <utility>

// What the engine says to ChatPanel, one function an event.
namespace kvscope {

void ChatPanel::openingProgress(const OpeningProgress& progress)
{
    m_progress->showOpening(progress);
}

void ChatPanel::openingCancelled()
{
    m_progress->finish();
}

void ChatPanel::commandFailed(const CommandFailed& failure)
{
    const bool isGenerate = failure.command == CommandFailed::Command::Generate;
    if (isGenerate && !accepts(failure.generation))
        return;
    m_messages->add(MessageBar::Kind::Failure, QString::fromStdString(failure.message),
                    QString::fromStdString(failure.detail));
    m_progress->finish();
    if (isGenerate)
        putBack(m_conversation.generationFailed());
}

void ChatPanel::notice(const Notice& notice)
{
    if (notice.generation == 0 || accepts(notice.generation))
        m_messages->add(MessageBar::Kind::Caution, QString::fromStdString(notice.message));
}

bool ChatPanel::accepts(std::uint64_t generation)
{
    if (generation < m_expected)
        return false;
    m_expected = generation;
    return true;
}

void ChatPanel::generationStarted(const GenerationStarted& event)
{
    if (!accepts(event.generation))
        return;
    m_question->withdraw();
    m_conversation.generationStarted(event);
    m_promptText = QString::fromStdString(event.promptText);
    m_promptTokens = event.keptTokens + static_cast<std::int64_t>(event.prompt.size());
    for (const TokenRecord& token : event.prompt) {
        const QString piece = QString::fromStdString(token.piece);
        if (token.isControl && !piece.isEmpty() && !m_controlTokens.contains(piece))
            m_controlTokens << piece;
    }
    if (m_prompt->isVisible())
        m_prompt->setPrompt(m_promptText, m_controlTokens, m_promptTokens);
    refresh();
}

void ChatPanel::promptScored(const PromptScored& event)
{
    if (!accepts(event.generation))
        return;
    m_legend->setHasLosses(true);
    m_conversation.promptScored(event);
}

void ChatPanel::tokenGenerated(const TokenGenerated& event)
{
    if (!accepts(event.generation))
        return;
    if (m_progress->isPrefill())
        m_progress->finish();
    m_legend->setHasLosses(m_legend->hasLosses() || event.token.nll >= 0.0);
    m_conversation.tokenGenerated(event.token);
}

void ChatPanel::generationFinished(const GenerationFinished& event)
{
    if (!accepts(event.generation))
        return;
    if (m_progress->isPrefill())
        m_progress->finish();
    m_question->withdraw();
    auto turn = m_conversation.generationFinished(event.summary);
    if (turn && event.summary.finish == FinishReason::ContextFull)
        m_messages->add(MessageBar::Kind::Caution,
                        tr("The context is full; there is no room for an answer."));
    putBack(std::move(turn));
}

void ChatPanel::putBack(std::optional<ChatConversation::TakenBack> turn)
{
    if (turn)
        m_composer->putBack(turn->text, turn->attachments);
    refresh();
}

void ChatPanel::contextFullAsked(const ContextFullAsked& question)
{
    if (!accepts(question.generation))
        return;
    const QString drop =
        question.messagesToDrop == 1
            ? tr("Leave out the oldest message")
            : tr("Leave out the %1 oldest messages").arg(countText(question.messagesToDrop));
    m_question->ask(tr("The chat takes %1 positions, the context holds %2.")
                        .arg(countText(question.promptTokens), countText(question.limitTokens)),
                    drop, tr("Do not send"));
}

} // namespace kvscope
