#pragma once

#include "engine/session/session_event.h"
#include "widgets/chat_conversation.h"
#include "widgets/chat_reach.h"
#include "widgets/sampling_settings.h"

#include <QElapsedTimer>
#include <QPointer>
#include <QWidget>

#include <memory>
#include <optional>

class QToolButton;
class QVBoxLayout;

namespace kvscope {

class ChatLegend;
class ChatView;
class Composer;
class ContextGauge;
class ElidedLabel;
class MessageBar;
class ProgressStrip;
class PromptViewer;
class QuestionBar;
class StartActions;
class TokenHistory;
class TokenSelectionModel;

/// The chat: conversation, context gauge, progress and composer. It owns the conversation as shown;
/// the app passes the engine's events in and the user's wishes out.
///
/// Events of a generation older than the newest one asked for are dropped. So after each of
/// sendRequested and regenerateRequested the app tells the id that Session::generate gave it.
class ChatPanel : public QWidget
{
    Q_OBJECT
public:
    explicit ChatPanel(QWidget* parent = nullptr);

    void setSelectionModel(TokenSelectionModel* selection); ///< may be null
    void setHistory(const TokenHistory* history);           ///< for tooltips; may be null
    /// The id of the generation just asked for.
    void setExpectedGeneration(std::uint64_t generation) { m_expected = generation; }
    /// Whether an event of that generation belongs to the chat shown; a newer one becomes the
    /// expected one.
    bool accepts(std::uint64_t generation);
    /// Positions a chat may fill, where it is not what the model was made for.
    void setContextLimit(std::int64_t positions);
    /// A dropped file that the app has read.
    void addAttachment(const QString& name, const QString& text, std::int64_t fileBytes);

    bool isRunning() const { return m_conversation.isRunning(); }
    ChatMessages messages() const { return m_conversation.messages(); }
    const ChatSettings& settings() const;
    void setSettings(const ChatSettings& settings);
    const ChatModel& model() const { return m_conversation.model(); }
    ChatView& view() { return *m_view; }
    Composer& composer() { return *m_composer; }
    ContextGauge& gauge() { return *m_gauge; }
    MessageBar& messageBar() { return *m_messages; }
    ProgressStrip& progressStrip() { return *m_progress; }
    QuestionBar& questionBar() { return *m_question; }
    PromptViewer& promptViewer() { return *m_prompt; }
    StartActions& startActions() { return *m_start; } ///< shown while nothing was said

    QSize sizeHint() const override { return {340, 700}; }
    QSize minimumSizeHint() const override { return {280, 320}; }

public Q_SLOTS:
    void setModel(const kvscope::ModelDescription& model); ///< and an empty chat
    void clearModel();
    void setSnapshot(std::shared_ptr<const kvscope::EngineSnapshot> snapshot);

    void openingProgress(const kvscope::OpeningProgress& progress);
    void openingCancelled();
    void commandFailed(const kvscope::CommandFailed& failure);
    void notice(const kvscope::Notice& notice);
    void generationStarted(const kvscope::GenerationStarted& event);
    void promptScored(const kvscope::PromptScored& event);
    void tokenGenerated(const kvscope::TokenGenerated& event);
    void generationFinished(const kvscope::GenerationFinished& event);
    void contextFullAsked(const kvscope::ContextFullAsked& question);

    void send();       ///< what stands in the composer
    void stop();       ///< nothing while nothing runs
    void regenerate(); ///< drops the last answer and asks for another; nothing while there is none
    void newChat();    ///< forgets the conversation, what is being typed stays
    void showRawPrompt();

Q_SIGNALS:
    void sendRequested(const kvscope::ChatMessages& messages,
                       const kvscope::ChatSettings& settings);
    void regenerateRequested(const kvscope::ChatMessages& messages,
                             const kvscope::ChatSettings& settings);
    void stopRequested();
    void newChatRequested();
    void contextFullAnswered(bool dropsOldest);
    void openingCancelRequested();
    void settingsChanged(const kvscope::ChatSettings& settings);
    void fileDropped(const QString& path);
    void escapePressed(); ///< in the composer, while nothing runs
    void runningChanged(bool isRunning);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void buildHeader(QVBoxLayout& column);
    void build();
    void connectParts();
    ChatSettings settingsForRun();
    void putBack(std::optional<ChatConversation::TakenBack> turn);
    void refresh();
    void showGauge();

    ChatConversation m_conversation;
    std::optional<ModelDescription> m_model;
    std::int64_t m_limit = 0;
    std::shared_ptr<const EngineSnapshot> m_snapshot;
    std::uint64_t m_expected = 0; ///< events of earlier generations are late
    bool m_wasRunning = false;
    QElapsedTimer m_figuresAge;
    QString m_promptText;
    QStringList m_controlTokens;
    std::int64_t m_promptTokens = 0;
    QPointer<TokenSelectionModel> m_selection;

    MessageBar* m_messages;
    ElidedLabel* m_title;
    QToolButton* m_newChat;
    QToolButton* m_rawPrompt;
    ChatView* m_view;
    StartActions* m_start;
    ChatLegend* m_legend;
    ProgressStrip* m_progress;
    ContextGauge* m_gauge;
    QuestionBar* m_question;
    Composer* m_composer;
    PromptViewer* m_prompt;
};

} // namespace kvscope
