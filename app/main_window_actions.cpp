#include "app/dropped_text.h"
#include "app/lab_page.h"
#include "app/live_panels.h"
#include "app/main_window.h"
#include "widgets/chat_panel.h"
#include "widgets/lab_command_line.h"
#include "widgets/lab_panel.h"
#include "widgets/plot_view.h"
#include "widgets/token_selection.h"

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QToolBar>
#include <QUrl>

namespace kvscope {

QAction* MainWindow::addTo(QMenu* menu, const QString& text, const QKeySequence& keys,
                           const std::function<void()>& act)
{
    QAction* action = menu->addAction(text);
    action->setShortcut(keys);
    if (act)
        connect(action, &QAction::triggered, this, act);
    m_actions.push_back(action);
    return action;
}

QAction* MainWindow::action(const QString& name) const
{
    for (QAction* action : m_actions) {
        QString text = action->text();
        if (text.remove('&').remove(QChar(0x2026)) == name)
            return action;
    }
    return nullptr;
}

void MainWindow::buildActions()
{
    buildFileMenu();
    buildChatMenu();
    buildLabMenu();
    buildViewMenu();
    buildHelpMenu();
    buildToolBar();
}

void MainWindow::buildFileMenu()
{
    QMenu* menu = menuBar()->addMenu(tr("&File"));
    addTo(menu, tr("&Open…"), QKeySequence::Open, [this] { askForModel(); });
    addTo(menu, tr("Open &folder…"), tr("Ctrl+Shift+O"), [this] { askForFolder(); });
    m_openDemo = addTo(menu, tr("Open &demo model"), tr("Ctrl+Shift+D"),
                       [this] { openModel(QStringLiteral("demo")); });
    QAction* smolLm2 = addTo(menu, tr("Open &SmolLM2"), tr("Ctrl+Shift+S"),
                             [this] { openModel(m_options.smolLm2Path); });
    smolLm2->setEnabled(QFileInfo::exists(m_options.smolLm2Path));
    m_recent = menu->addMenu(tr("Open &recent"));
    m_recent->setToolTipsVisible(true);
    fillRecentMenu();
    addTo(menu, tr("File &doctor…"), {}, [this] { showFileDoctor(); });
    menu->addSeparator();
    addTo(menu, tr("&Export view…"), tr("Ctrl+E"), [this] { exportFocused(); });
    menu->addSeparator();
    addTo(menu, tr("&Quit"), QKeySequence::Quit, [this] { close(); });
}

void MainWindow::fillRecentMenu()
{
    m_recent->clear();
    const QStringList files = m_settings.recentFiles();
    for (const QString& file : files)
        connect(m_recent->addAction(file), &QAction::triggered, this,
                [this, file] { openRecent(file); });
    m_recent->setEnabled(!files.isEmpty());
    if (files.isEmpty())
        return;
    for (QAction* action : m_recent->actions())
        action->setToolTip(tr("Opens it at once. With Shift: shows what it is and costs first."));
    m_recent->addSeparator();
    connect(m_recent->addAction(tr("With options…")), &QAction::triggered, this,
            [this] { showOpenDialog(m_settings.recentFiles().value(0)); });
    connect(m_recent->addAction(tr("Forget these")), &QAction::triggered, this, [this] {
        m_settings.clearRecentFiles();
        fillRecentMenu();
    });
}

void MainWindow::buildChatMenu()
{
    QMenu* menu = menuBar()->addMenu(tr("&Chat"));
    ChatPanel* chat = m_panels->chat;
    m_newChat = addTo(menu, tr("&New chat"), QKeySequence::New, [chat] { chat->newChat(); });
    m_again =
        addTo(menu, tr("Write the answer &again"), tr("Ctrl+R"), [chat] { chat->regenerate(); });
    // Esc itself is handled by the window, since it also clears the selection.
    m_stop = addTo(menu, tr("&Stop"), tr("Ctrl+."), [this] { stopWhatRuns(); });
    menu->addSeparator();
    addTo(menu, tr("Attach &text file…"), {}, [this] { askForText(); });
    addTo(menu, tr("Raw &prompt…"), {}, [chat] { chat->showRawPrompt(); });
}

void MainWindow::askForText()
{
    const QString path = QFileDialog::getOpenFileName(this, tr("Attach a text file to the message"),
                                                      {}, tr("Text (*.txt *.md);;All files (*)"));
    if (!path.isEmpty())
        m_textReader->read(path);
}

void MainWindow::buildViewMenu()
{
    QMenu* menu = menuBar()->addMenu(tr("&View"));
    buildWorkspaces(menu);
    menu->addSeparator();
    for (QDockWidget* dock : liveDocks())
        menu->addAction(dock->toggleViewAction());
    for (QDockWidget* dock :
         {m_docks.experiment, m_docks.result, m_docks.running, m_docks.trials, m_docks.prompt})
        menu->addAction(dock->toggleViewAction());
    menu->addSeparator();
    m_followHead = addTo(menu, tr("&Follow head"), {}, {});
    m_followHead->setCheckable(true);
    m_followHead->setChecked(true);
    connect(m_followHead, &QAction::toggled, m_panels->selection,
            &TokenSelectionModel::setFollowsHead);
    connect(m_panels->selection, &TokenSelectionModel::followsHeadChanged, m_followHead,
            &QAction::setChecked);
    addTo(menu, tr("Fit &axis"), tr("Ctrl+0"), [this] { m_panels->positions->fit(); });
    menu->addSeparator();
    QMenu* themes = menu->addMenu(tr("&Theme"));
    auto* group = new QActionGroup(this);
    for (const auto& [text, choice] :
         {std::pair{tr("As the system"), ThemeChoice::System},
          std::pair{tr("Light"), ThemeChoice::Light}, std::pair{tr("Dark"), ThemeChoice::Dark}}) {
        QAction* theme = addTo(themes, text, {}, [this, choice = choice] { chooseTheme(choice); });
        theme->setCheckable(true);
        theme->setChecked(choice == m_settings.theme());
        group->addAction(theme);
    }
    addTo(menu, tr("&Reset layout"), {}, [this] { resetLayout(); });
}

void MainWindow::buildWorkspaces(QMenu* menu)
{
    m_workspaces = new QActionGroup(this);
    const auto add = [this, menu](const QString& text, const QString& keys, Workspace workspace) {
        QAction* action = addTo(menu, text, keys, [this, workspace] { showWorkspace(workspace); });
        action->setCheckable(true);
        m_workspaces->addAction(action);
    };
    add(tr("&Live"), tr("Ctrl+1"), Workspace::Live);
    add(tr("La&b"), tr("Ctrl+2"), Workspace::Lab);
    m_workspaces->actions().first()->setChecked(true);
}

void MainWindow::buildLabMenu()
{
    QMenu* menu = menuBar()->addMenu(tr("&Lab"));
    m_start = addTo(menu, tr("&Start experiment"), {}, [this] {
        showWorkspace(Workspace::Lab);
        m_lab->start();
    });
    m_pause =
        addTo(menu, tr("&Pause or resume"), {}, [this] { m_lab->panel->pauseButton()->click(); });
    m_cancel = addTo(menu, tr("&Cancel experiment"), {}, [this] { m_lab->cancel(); });
    m_passkeySweep = addTo(menu, tr("Passkey s&weep"), {}, [this] { startPasskeySweep(); });
    menu->addSeparator();
    addTo(menu, tr("Copy command &line"), tr("Ctrl+Shift+C"),
          [this] { m_lab->panel->commandLine().copy(); });
}

void MainWindow::buildHelpMenu()
{
    QMenu* menu = menuBar()->addMenu(tr("&Help"));
    addTo(menu, tr("Help for this &panel"), QKeySequence::HelpContents,
          [this] { showPanelHelp(); });
    addTo(menu, tr("&About kvscope"), {}, [this] { showAbout(); });
}

void MainWindow::buildToolBar()
{
    QToolBar* bar = addToolBar(tr("Main"));
    bar->setObjectName("toolbar");
    bar->setMovable(false);
    bar->setToolButtonStyle(Qt::ToolButtonTextOnly);
    bar->addAction(action(tr("Open")));
    bar->addAction(m_newChat);
    bar->addSeparator();
    bar->addActions(m_workspaces->actions());
    bar->addSeparator();
    bar->addAction(m_pause);
    bar->addAction(m_stop);
    bar->addAction(m_followHead);
    bar->addAction(action(tr("Fit axis")));
    bar->toggleViewAction()->setVisible(false);
}

void MainWindow::chooseTheme(ThemeChoice choice)
{
    m_settings.setTheme(choice);
    applyTheme(*qobject_cast<QApplication*>(QCoreApplication::instance()), choice);
}

void MainWindow::showAbout()
{
    QMessageBox::about(this, tr("About kvscope"),
                       tr("kvscope %1\n\nShows what a language model's long context costs and "
                          "whether it works.\n\nCopyright the "
                          "kvscope developers. Free software under the GNU General Public License, "
                          "version 3 or later. Uses Qt 6, "
                          "QCustomPlot, LibTorch and sentencepiece.")
                           .arg(KVSCOPE_VERSION));
}

void MainWindow::updateActions()
{
    const bool isRunning = m_panels->chat->isRunning();
    m_stop->setEnabled(isRunning || m_lab->isRunning());
    m_again->setEnabled(!isRunning);
    m_start->setEnabled(!m_lab->isRunning());
    m_pause->setEnabled(m_lab->isRunning());
    m_pause->setIconText(m_lab->isPaused() ? tr("Resume") : tr("Pause"));
    m_cancel->setEnabled(m_lab->isRunning());
    updateStart();
}

} // namespace kvscope
