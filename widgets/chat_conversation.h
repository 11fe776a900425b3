#pragma once

#include "engine/session/session_event.h"
#include "widgets/chat_model.h"
#include "widgets/chat_tokens.h"

#include <optional>
#include <vector>

namespace kvscope {

/// The conversation as a state machine: turns the user adds, and what the engine answers. It owns
/// the rows that are shown and the messages that are sent, so that the two cannot differ.
class ChatConversation
{
public:
    /// A turn that came to nothing, to be put back where it was typed.
    struct TakenBack
    {
        QString text;
        std::vector<ChatAttachment> attachments;
    };

    ChatModel& model() { return m_model; }
    const ChatModel& model() const { return m_model; }
    /// What a request must hold: the system prompt, if any, then all turns, ending with the user's.
    ChatMessages messages() const;

    /// Shown first, in force from the next answer on; empty: none.
    void setSystemPrompt(const QString& text);
    /// Adds the user's turn and a place for the answer. Attachments stand before the text, each
    /// under its name.
    void addTurn(const QString& text, const std::vector<ChatAttachment>& attachments,
                 std::uint64_t seed);
    /// There is an answer, and nothing runs.
    bool canRegenerate() const;
    /// Replaces the last answer by a place for a new one. The old one returns if nothing comes.
    void dropAnswer(std::uint64_t seed);
    /// What a model with channels writes before its answer proper; see ChatTemplate. Of an earlier
    /// turn only what follows it is in the context.
    void setAnswerOpening(const std::string& opening) { m_answerOpening = opening; }
    bool isRunning() const { return m_isRunning; }
    bool hasTurns() const; ///< anything but a system text
    void clear();

    void generationStarted(const GenerationStarted& event);
    void promptScored(const PromptScored& event);
    void tokenGenerated(const TokenRecord& token);
    void setRate(double tokensPerSecond); ///< of the answer being written
    /// An answer that holds a token is kept, however it ended. Otherwise the turn is taken back.
    std::optional<TakenBack> generationFinished(const GenerationSummary& summary);
    std::optional<TakenBack> generationFailed();

private:
    void openAnswer(std::uint64_t seed);
    std::optional<TakenBack> takeBack();
    void align(std::int64_t droppedMessages);
    qsizetype sentFrom(const ChatRow& row) const; ///< offset of what a later prompt holds of it
    void showPreamble(const PromptAlignment& alignment);
    bool hasSystemRow() const;
    int answerRow() const { return m_model.rowCount() - 1; }

    ChatModel m_model;
    std::vector<ContextToken> m_context; ///< the index is the position
    std::string m_answerOpening;
    bool m_isRunning = false;
    TakenBack m_turn;                   ///< the newest, while it may have to be taken back
    std::optional<ChatRow> m_oldAnswer; ///< being written again
};

} // namespace kvscope
