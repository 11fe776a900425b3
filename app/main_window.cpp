#include "app/main_window.h"

#include "app/dropped_text.h"
#include "app/lab_page.h"
#include "app/live_panels.h"
#include "app/preview_reader.h"
#include "widgets/chat_panel.h"
#include "widgets/fonts.h"
#include "widgets/global_layers_panel.h"
#include "widgets/layer_table.h"
#include "widgets/loss_plot.h"
#include "widgets/memory_plot.h"
#include "widgets/message_bar.h"
#include "widgets/rings_panel.h"
#include "widgets/status_strip.h"
#include "widgets/sweep_trials_panel.h"
#include "widgets/theme.h"
#include "widgets/token_selection.h"

#include <QAction>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QMimeData>
#include <QStatusBar>

namespace kvscope {

MainWindow::MainWindow(const WindowOptions& options, QWidget* parent)
    : QMainWindow(parent)
    , m_options(options)
    , m_engine(new EngineBridge(this))
    , m_panels(new LivePanels(this))
    , m_lab(new LabPage(m_engine->session(), this))
    , m_textReader(new DroppedTextReader(this))
    , m_previewReader(new PreviewReader(this))
{
    setWindowTitle("kvscope");
    setAcceptDrops(true);
    buildDocks();
    buildActions();
    statusBar()->addWidget(m_panels->status, 1);
    statusBar()->addPermanentWidget(m_recording = new QLabel);
    m_recording->setContentsMargins(spacing::kStep, 0, spacing::kWide, 0);
    m_recording->setObjectName("recording");
    statusBar()->setSizeGripEnabled(false);
    m_panels->chat->setSettings(m_settings.chat());
    connectEngine();
    connectChat();
    connectLab();
    connectStart();
    restoreLayout();
    updateActions();
}

MainWindow::~MainWindow() = default;

void MainWindow::connectEngine()
{
    LivePanels* panels = m_panels;
    ChatPanel* chat = panels->chat;
    connect(m_engine, &EngineBridge::openingProgress, chat, &ChatPanel::openingProgress);
    connect(m_engine, &EngineBridge::openingCancelled, chat, &ChatPanel::openingCancelled);
    connect(m_engine, &EngineBridge::commandFailed, chat, &ChatPanel::commandFailed);
    connect(m_engine, &EngineBridge::notice, chat, &ChatPanel::notice);
    connect(m_engine, &EngineBridge::generationFinished, chat, &ChatPanel::generationFinished);
    connect(m_engine, &EngineBridge::contextFullAsked, chat, &ChatPanel::contextFullAsked);
    connect(m_engine, &EngineBridge::generationStarted, panels, &LivePanels::showGenerationStarted);
    connect(m_engine, &EngineBridge::promptScored, panels, &LivePanels::showPromptScored);
    connect(m_engine, &EngineBridge::tokenGenerated, panels, &LivePanels::showToken);
    connect(m_engine, &EngineBridge::snapshotArrived, panels, &LivePanels::showSnapshot);
    connect(m_engine, &EngineBridge::modelOpened, this,
            [this](const ModelOpened& event) { showOpened(event.model); });
}

void MainWindow::connectChat()
{
    ChatPanel* chat = m_panels->chat;
    Session* session = &m_engine->session();
    connect(chat, &ChatPanel::sendRequested, this, &MainWindow::startGeneration);
    connect(chat, &ChatPanel::regenerateRequested, this, &MainWindow::startGeneration);
    connect(chat, &ChatPanel::stopRequested, this, [session] { session->stopGenerating(); });
    connect(chat, &ChatPanel::openingCancelRequested, this,
            [session] { session->cancelOpening(); });
    connect(chat, &ChatPanel::newChatRequested, this, [this, session] {
        session->stopGenerating();
        session->newChat();
        m_panels->clearTokens();
    });
    connect(chat, &ChatPanel::contextFullAnswered, this, [session](bool dropsOldest) {
        session->answerContextFull(dropsOldest ? Session::ContextFullAnswer::DropOldest
                                               : Session::ContextFullAnswer::GiveUp);
    });
    connect(chat, &ChatPanel::settingsChanged, this,
            [this](const ChatSettings& settings) { m_settings.setChat(settings); });
    connect(chat, &ChatPanel::fileDropped, this,
            [this](const QString& path) { openDropped(path); });
    const auto tellFailure = [chat](const QString& message) {
        chat->messageBar().add(MessageBar::Kind::Failure, message);
    };
    connect(m_panels->rings, &RingsPanel::exportFailed, this, tellFailure);
    connect(m_panels->globalLayers, &GlobalLayersPanel::exportFailed, this, tellFailure);
    connect(m_panels->memory, &MemoryPlot::exportFailed, this, tellFailure);
    connect(m_panels->loss, &LossPlot::exportFailed, this, tellFailure);
    connect(m_panels->layerTable, &LayerTable::exportFailed, this, tellFailure);
    connect(chat, &ChatPanel::escapePressed, this, &MainWindow::escape);
    connect(chat, &ChatPanel::runningChanged, this, &MainWindow::updateActions);
    connect(m_textReader, &DroppedTextReader::textRead, chat, &ChatPanel::addAttachment);
    connect(m_textReader, &DroppedTextReader::readFailed, this, tellFailure);
}

void MainWindow::connectLab()
{
    connect(m_engine, &EngineBridge::labEvent, m_lab, &LabPage::showEvent);
    connect(m_engine, &EngineBridge::snapshotArrived, m_lab, &LabPage::showSnapshot);
    connect(m_lab, &LabPage::stateChanged, this, &MainWindow::updateActions);
    connect(m_lab, &LabPage::kindChosen, this, &MainWindow::raiseFor);
    connect(m_lab, &LabPage::runningChanged, this, &MainWindow::raiseRunning);
    connect(m_lab->trials, &SweepTrialsPanel::trialChosen, this, [this] {
        if (m_workspace == Workspace::Lab)
            m_docks.prompt->raise();
    });
    connect(m_lab, &LabPage::recordingChanged, this, [this](const QString& text) {
        constexpr int kWidest = 300; // a long name leaves the strip beside it its room
        const QString shown = text.isEmpty() ? QString() : QStringLiteral("\u25cf ") + text;
        m_recording->setText(
            m_recording->fontMetrics().elidedText(shown, Qt::ElideMiddle, kWidest));
        m_recording->setToolTip(text);
        QPalette colors = palette();
        colors.setColor(QPalette::WindowText, Theme::current().bad);
        m_recording->setPalette(colors);
    });
}

void MainWindow::startGeneration(const std::vector<ChatMessage>& messages,
                                 const ChatSettings& settings)
{
    ChatRequest request;
    request.messages = messages;
    request.sampling = settings.sampling;
    request.scoresPrompt = settings.scoresPrompt;
    request.whenFull =
        settings.keepsNewestWhenFull ? ContextFullPolicy::KeepNewest : ContextFullPolicy::Ask;
    m_panels->chat->setExpectedGeneration(m_engine->session().generate(std::move(request)));
}

void MainWindow::showOpened(const ModelDescription& model)
{
    m_settings.addRecentFile(QString::fromStdString(model.path));
    fillRecentMenu();
    setWindowTitle(tr("%1 – kvscope").arg(QString::fromStdString(model.name)));
    if (m_panels->chat->isRunning()) // asked between the opening's end and its arrival here
        m_engine->session().stopGenerating();
    m_panels->showModel(model);
    m_lab->showModel(model);
    updateActions();
}

void MainWindow::escape()
{
    // Esc stops what runs first; when nothing does, it lets go of the selected token.
    if (m_panels->chat->isRunning())
        m_panels->chat->stop();
    else
        m_panels->selection->clear();
}

void MainWindow::stopWhatRuns()
{
    if (m_panels->chat->isRunning())
        m_panels->chat->stop();
    else
        m_lab->cancel();
}

void MainWindow::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape)
        escape();
    else
        QMainWindow::keyPressEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (event->mimeData()->hasUrls())
        event->acceptProposedAction();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    m_settings.setGeometry(saveGeometry());
    saveLayout();
    m_engine->session().cancelExperiment();
    m_engine->session().stopGenerating();
    m_engine->session().cancelOpening();
    QMainWindow::closeEvent(event);
}

} // namespace kvscope
