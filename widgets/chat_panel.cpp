#include "widgets/chat_panel.h"

#include "widgets/chat_legend.h"
#include "widgets/chat_view.h"
#include "widgets/composer.h"
#include "widgets/context_gauge.h"
#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/message_bar.h"
#include "widgets/message_bar_question.h"
#include "widgets/number_format.h"
#include "widgets/progress_strip.h"
#include "widgets/prompt_viewer.h"
#include "widgets/start_actions.h"
#include "widgets/theme.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QRandomGenerator>
#include <QToolButton>
#include <QVBoxLayout>

#include <utility>

namespace kvscope {

ChatPanel::ChatPanel(QWidget* parent)
    : QWidget(parent)
{
    setAccessibleName(tr("Chat"));
    build();
    connectParts();
    clearModel();
}

void ChatPanel::buildHeader(QVBoxLayout& column)
{
    m_title = new ElidedLabel;
    m_title->setFont(uiFont(TextSize::Secondary));
    m_title->setInk(&Theme::ink3);
    m_newChat = new QToolButton;
    m_newChat->setText(tr("New chat"));
    m_newChat->setToolTip(tr("Forget this conversation and its cache (Ctrl+N)"));
    m_rawPrompt = new QToolButton;
    m_rawPrompt->setText(tr("Raw prompt"));
    m_rawPrompt->setToolTip(tr("The prompt as the model was given it, control tokens included"));
    auto* line = new QHBoxLayout;
    line->setContentsMargins(spacing::kWide, 2, spacing::kTight, 2);
    line->setSpacing(spacing::kTight);
    line->addWidget(m_title, 1);
    for (QToolButton* button : {m_newChat, m_rawPrompt}) {
        button->setAutoRaise(true);
        button->setFont(uiFont(TextSize::Secondary));
        button->setMinimumHeight(spacing::kListRow);
        line->addWidget(button);
    }
    column.addLayout(line);
}

void ChatPanel::build()
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    m_messages = new MessageBar;
    column->addWidget(m_messages);
    buildHeader(*column);
    m_view = new ChatView;
    m_start = new StartActions;
    m_legend = new ChatLegend;
    m_progress = new ProgressStrip;
    m_gauge = new ContextGauge;
    m_question = new QuestionBar;
    m_composer = new Composer;
    m_prompt = new PromptViewer(this);
    column->addWidget(m_view, 1);
    column->addWidget(m_start);
    column->addWidget(m_legend);
    column->addWidget(m_progress);
    column->addWidget(m_question);
    column->addWidget(m_gauge);
    column->addWidget(m_composer);
    m_view->setModel(&m_conversation.model());
}

void ChatPanel::connectParts()
{
    connect(m_composer, &Composer::submitted, this, &ChatPanel::send);
    connect(m_composer, &Composer::stopRequested, this, &ChatPanel::stop);
    connect(m_composer, &Composer::regenerateRequested, this, &ChatPanel::regenerate);
    connect(m_composer, &Composer::fileDropped, this, &ChatPanel::fileDropped);
    connect(m_composer, &Composer::escapePressed, this, &ChatPanel::escapePressed);
    connect(m_composer, &Composer::settingsChanged, this, [this](const ChatSettings& settings) {
        if (!isRunning())
            m_conversation.setSystemPrompt(settings.systemPrompt);
        Q_EMIT settingsChanged(settings);
    });
    connect(m_newChat, &QToolButton::clicked, this, &ChatPanel::newChat);
    connect(m_rawPrompt, &QToolButton::clicked, this, &ChatPanel::showRawPrompt);
    connect(m_question, &QuestionBar::answered, this, [this](bool dropsOldest) {
        m_composer->focusText();
        Q_EMIT contextFullAnswered(dropsOldest);
    });
    connect(m_progress, &ProgressStrip::cancelRequested, this, &ChatPanel::openingCancelRequested);
}

void ChatPanel::setSelectionModel(TokenSelectionModel* selection)
{
    if (m_selection != nullptr)
        m_selection->disconnect(this);
    m_selection = selection;
    m_view->setSelectionModel(selection);
    if (m_selection != nullptr)
        connect(m_selection, &TokenSelectionModel::pinChanged, this,
                [this] { m_gauge->setPinned(m_selection->selection().pinned); });
}

void ChatPanel::setHistory(const TokenHistory* history)
{
    m_view->setHistory(history);
}

void ChatPanel::setContextLimit(std::int64_t positions)
{
    m_limit = positions;
    showGauge();
}

void ChatPanel::addAttachment(const QString& name, const QString& text, std::int64_t fileBytes)
{
    m_composer->addAttachment({name, text, fileBytes});
    m_composer->focusText();
}

const ChatSettings& ChatPanel::settings() const
{
    return m_composer->settings();
}

void ChatPanel::setSettings(const ChatSettings& settings)
{
    m_composer->setSettings(settings);
    if (!isRunning())
        m_conversation.setSystemPrompt(settings.systemPrompt);
}

void ChatPanel::setModel(const ModelDescription& model)
{
    m_progress->finish();
    m_question->withdraw();
    if (isRunning()) { // a message to the model before: its text goes back to the composer
        ++m_expected;
        putBack(m_conversation.generationFailed());
    }
    m_model = model;
    m_limit = model.contextLimit > 0        ? model.contextLimit
              : model.extendedPositions > 0 ? model.extendedPositions
                                            : model.trainedPositions;
    m_conversation.clear();
    m_messages->clear(); // they were about the model before
    m_conversation.setAnswerOpening(model.answerOpening);
    m_composer->settingsEditor().setSystemRefusal(QString::fromStdString(model.systemRefusal));
    m_promptText.clear();
    m_prompt->setTemplate(QString::fromStdString(model.chatTemplate),
                          QString::fromStdString(model.templateNote));
    for (const std::string& warning : model.warnings)
        m_messages->add(MessageBar::Kind::Caution, QString::fromStdString(warning));
    if (!model.templateNote.empty())
        m_messages->add(MessageBar::Kind::Caution, QString::fromStdString(model.templateNote));
    refresh();
}

void ChatPanel::clearModel()
{
    m_progress->finish();
    m_question->withdraw();
    m_model.reset();
    m_limit = 0;
    m_snapshot.reset();
    m_conversation.clear();
    m_promptText.clear();
    m_prompt->setTemplate({}, {});
    m_view->setReach({});
    m_legend->setReach({});
    refresh();
}

void ChatPanel::setSnapshot(std::shared_ptr<const EngineSnapshot> snapshot)
{
    constexpr int kFigureMilliseconds = 250; // a figure must stand long enough to be read
    m_snapshot = std::move(snapshot);
    if (m_snapshot == nullptr)
        return;
    // While a token follows the other, the gutter is drawn anew as often as figures are.
    const bool isDue = m_snapshot->phase != Phase::Decode || !m_figuresAge.isValid() ||
                       m_figuresAge.elapsed() >= kFigureMilliseconds;
    if (isDue) {
        m_figuresAge.start();
        const ChatReach reach = ChatReach::of(m_snapshot->cache);
        m_view->setReach(reach);
        m_legend->setReach(reach);
        m_conversation.setRate(m_snapshot->decodeTokensPerSecond);
    }
    showGauge();
    const bool isReading = m_snapshot->phase == Phase::Prefill && isRunning();
    if (isReading)
        m_progress->showPrefill(m_snapshot->prefill, m_snapshot->prefillTokensPerSecond);
    else if (m_snapshot->phase != Phase::Opening && m_progress->isPrefill())
        m_progress->finish();
}

void ChatPanel::showGauge()
{
    const std::int64_t trained = m_model ? m_model->trainedPositions : 0;
    ContextGaugeState state;
    if (m_snapshot != nullptr && m_model)
        state = ContextGaugeState::of(*m_snapshot, m_limit, trained);
    state.limit = m_limit;
    state.trained = trained;
    state.extended = m_model ? m_model->extendedPositions : 0;
    m_gauge->setState(state);
    m_composer->settingsEditor().setContext(m_limit, trained);
}

ChatSettings ChatPanel::settingsForRun()
{
    ChatSettings settings = m_composer->settings();
    if (settings.newSeedEachTime && settings.sampling.temperature > 0.0) {
        // 32 bits are enough to differ, and short enough to be written down.
        settings.sampling.seed = QRandomGenerator::global()->generate();
        m_composer->setSettings(settings); // so that the seed can be kept
    }
    return settings;
}

void ChatPanel::send()
{
    const QString text = m_composer->text();
    const auto attachments = m_composer->attachments();
    const bool isEmpty = text.trimmed().isEmpty() && attachments.empty();
    if (isRunning() || isEmpty || !m_model || !m_model->canChat)
        return;
    const ChatSettings settings = settingsForRun();
    m_conversation.setSystemPrompt(settings.systemPrompt);
    m_conversation.addTurn(text, attachments, settings.sampling.seed);
    m_composer->clear();
    m_view->scrollToEnd();
    refresh();
    Q_EMIT sendRequested(m_conversation.messages(), settings);
}

void ChatPanel::stop()
{
    if (isRunning())
        Q_EMIT stopRequested();
}

void ChatPanel::regenerate()
{
    if (!m_conversation.canRegenerate() || !m_model || !m_model->canChat)
        return;
    const ChatSettings settings = settingsForRun();
    m_conversation.setSystemPrompt(settings.systemPrompt);
    m_conversation.dropAnswer(settings.sampling.seed);
    m_view->scrollToEnd();
    refresh();
    Q_EMIT regenerateRequested(m_conversation.messages(), settings);
}

void ChatPanel::newChat()
{
    if (isRunning())
        ++m_expected; // what that generation still says is late
    m_question->withdraw();
    if (m_progress->isPrefill())
        m_progress->finish();
    m_conversation.clear();
    m_messages->clear();
    m_promptText.clear();
    m_promptTokens = 0;
    m_legend->setHasLosses(false);
    if (m_selection != nullptr)
        m_selection->clear();
    refresh();
    m_composer->focusText();
    Q_EMIT newChatRequested();
}

void ChatPanel::showRawPrompt()
{
    m_prompt->setPrompt(m_promptText, m_controlTokens, m_promptTokens);
    m_prompt->show();
    m_prompt->raise();
    m_prompt->activateWindow();
}

void ChatPanel::refresh()
{
    QString reason;
    if (!m_model)
        reason = tr("No model is open.");
    else if (!m_model->canChat)
        reason = tr("This checkpoint has no usable tokenizer, so it cannot read or write text.");
    m_composer->setBlockedReason(reason);
    m_composer->setRunning(isRunning());
    m_composer->setCanRegenerate(m_conversation.canRegenerate());
    m_rawPrompt->setEnabled(!m_promptText.isEmpty());
    m_newChat->setEnabled(m_conversation.hasTurns());
    m_start->setVisible(!m_conversation.hasTurns());
    if (!m_model)
        m_view->setEmptyText(tr("No model open"), tr("Drop a file here, or press Ctrl+O."));
    else if (!m_model->canChat)
        m_view->setEmptyText(tr("No tokenizer"),
                             tr("The model is open, but its text cannot be read or written."));
    else
        m_view->setEmptyText(tr("Nothing said yet"),
                             tr("Write a message below, or drop a text file on it."));
    QStringList title;
    if (m_model && !m_model->chatTemplate.empty())
        title << tr("Template: %1").arg(QString::fromStdString(m_model->chatTemplate));
    m_title->setText(title.join(QStringLiteral(" · ")));
    showGauge();
    if (isRunning() != m_wasRunning) {
        m_wasRunning = isRunning();
        Q_EMIT runningChanged(m_wasRunning);
    }
}

void ChatPanel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), Theme::current().panel);
}

} // namespace kvscope
