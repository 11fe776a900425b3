#include "app/lab_page.h"
#include "app/live_panels.h"
#include "app/main_window.h"
#include "widgets/chat_panel.h"
#include "widgets/dock_title.h"
#include "widgets/global_layers_panel.h"
#include "widgets/lab_panel.h"
#include "widgets/layer_table.h"
#include "widgets/loss_plot.h"
#include "widgets/memory_plot.h"
#include "widgets/rings_panel.h"
#include "widgets/sweep_prompt_panel.h"
#include "widgets/sweep_trials_panel.h"
#include "widgets/token_panel.h"
#include "widgets/trial_running_panel.h"

#include <QAction>
#include <QActionGroup>
#include <QDockWidget>
#include <QGuiApplication>
#include <QScreen>
#include <QStackedWidget>

namespace kvscope {
namespace {

constexpr QSize kFirstSize{1440, 900};
constexpr int kRunningHeight = 118; ///< px, title included
/// Lower windows have what runs in a tab, so that the map keeps its height.
constexpr int kRunningFrom = 860;

} // namespace

QDockWidget* MainWindow::addDock(QWidget* panel, const QString& title, const QString& name)
{
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(name);
    auto* bar = new DockTitle(dock);
    dock->setTitleBarWidget(bar);
    dock->setWidget(panel);
    if (auto* painted = qobject_cast<PaintedPanel*>(panel)) {
        bar->setDescription(painted->description());
        connect(painted, &PaintedPanel::descriptionChanged, bar, &DockTitle::setDescription);
    }
    if (auto* plot = qobject_cast<PlotPanel*>(panel))
        bar->setHeader(plot->takeHeader());
    return dock;
}

void MainWindow::buildDocks()
{
    setDockNestingEnabled(true);
    setCorner(Qt::TopLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::TopRightCorner, Qt::RightDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
    m_docks.chat = addDock(m_panels->chat, tr("Chat"), "chat");
    m_docks.rings = addDock(m_panels->rings, tr("Rings"), "rings");
    m_docks.globalLayers = addDock(m_panels->globalLayers, tr("Global layers"), "globalLayers");
    m_docks.memory = addDock(m_panels->memory, tr("Memory"), "memory");
    m_docks.loss = addDock(m_panels->loss, tr("Loss"), "loss");
    m_docks.layers = addDock(m_panels->layerTable, tr("Layers"), "layers");
    m_docks.token = addDock(m_panels->token, tr("Token"), "token");
    m_docks.experiment = addDock(m_lab->panel, tr("Experiment"), "experiment");
    m_docks.result = addDock(m_lab->results, tr("Result"), "result");
    m_docks.trials = addDock(m_lab->trials, tr("Trials"), "trials");
    m_docks.prompt = addDock(m_lab->prompt, tr("Prompt and answer"), "prompt");
    m_docks.running = addDock(m_lab->running, tr("Trial running"), "running");
    const auto setHeader = [](QDockWidget* dock, QWidget* header) {
        static_cast<DockTitle*>(dock->titleBarWidget())->setHeader(header);
    };
    setHeader(m_docks.result, m_lab->headers);
    setHeader(m_docks.trials, m_lab->trials->takeHeader());
    setHeader(m_docks.prompt, m_lab->prompt->takeHeader());
}

std::vector<QDockWidget*> MainWindow::liveDocks() const
{
    return {m_docks.chat, m_docks.rings,  m_docks.globalLayers, m_docks.memory,
            m_docks.loss, m_docks.layers, m_docks.token};
}

std::vector<QDockWidget*> MainWindow::labDocks() const
{
    return {m_docks.experiment,   m_docks.result, m_docks.chat,   m_docks.rings,
            m_docks.globalLayers, m_docks.trials, m_docks.prompt, m_docks.running};
}

void MainWindow::takeDocksOut()
{
    std::vector<QDockWidget*> docks = liveDocks();
    docks.insert(docks.end(), {m_docks.experiment, m_docks.result, m_docks.trials, m_docks.prompt,
                               m_docks.running});
    for (QDockWidget* dock : docks) {
        dock->setFloating(false);
        removeDockWidget(dock);
    }
}

void MainWindow::arrangeDocks()
{
    takeDocksOut();
    if (m_workspace == Workspace::Live)
        arrangeLive();
    else
        arrangeLab();
}

void MainWindow::arrangeLive()
{
    addDockWidget(Qt::LeftDockWidgetArea, m_docks.chat);
    addDockWidget(Qt::RightDockWidgetArea, m_docks.rings);
    splitDockWidget(m_docks.rings, m_docks.token, Qt::Horizontal);
    splitDockWidget(m_docks.rings, m_docks.globalLayers, Qt::Vertical);
    tabifyDockWidget(m_docks.token, m_docks.layers);
    addDockWidget(Qt::BottomDockWidgetArea, m_docks.memory);
    splitDockWidget(m_docks.memory, m_docks.loss, Qt::Horizontal);
    for (QDockWidget* dock : liveDocks())
        dock->show();
    m_docks.token->raise();
    resizeDocks({m_docks.chat, m_docks.rings, m_docks.token}, {340, 838, 262}, Qt::Horizontal);
    resizeDocks({m_docks.rings, m_docks.globalLayers, m_docks.memory}, {300, 190, 262},
                Qt::Vertical);
    resizeDocks({m_docks.memory, m_docks.loss}, {550, 550}, Qt::Horizontal);
}

void MainWindow::arrangeLab()
{
    // The experiment's cache stays in view beside its result; the chat is behind the plan.
    addDockWidget(Qt::LeftDockWidgetArea, m_docks.experiment);
    tabifyDockWidget(m_docks.experiment, m_docks.chat);
    addDockWidget(Qt::RightDockWidgetArea, m_docks.result);
    splitDockWidget(m_docks.result, m_docks.rings, Qt::Horizontal);
    splitDockWidget(m_docks.rings, m_docks.globalLayers, Qt::Vertical);
    tabifyDockWidget(m_docks.rings, m_docks.trials);
    tabifyDockWidget(m_docks.globalLayers, m_docks.prompt);
    const bool isBelow = height() >= kRunningFrom;
    if (isBelow)
        splitDockWidget(m_docks.result, m_docks.running, Qt::Vertical);
    else
        tabifyDockWidget(m_docks.prompt, m_docks.running);
    for (QDockWidget* dock : labDocks())
        dock->show();
    m_docks.experiment->raise();
    raiseFor(m_lab->panel->list().chosen());
    resizeDocks({m_docks.experiment, m_docks.result, m_docks.rings}, {300, 704, 436},
                Qt::Horizontal);
    resizeDocks({m_docks.rings, m_docks.globalLayers}, {460, 360}, Qt::Vertical);
    if (isBelow)
        resizeDocks({m_docks.result, m_docks.running}, {700, kRunningHeight}, Qt::Vertical);
}

void MainWindow::raiseFor(LabKind kind)
{
    if (m_workspace != Workspace::Lab)
        return;
    const bool isSweep = kind == LabKind::Needle || kind == LabKind::Passkey;
    (isSweep ? m_docks.trials : m_docks.rings)->raise();
    (isSweep ? m_docks.prompt : m_docks.globalLayers)->raise();
}

void MainWindow::raiseRunning(bool isRunning)
{
    if (m_workspace != Workspace::Lab || tabifiedDockWidgets(m_docks.running).isEmpty())
        return;
    if (isRunning)
        m_docks.running->raise();
    else
        raiseFor(m_lab->panel->list().chosen());
}

namespace {

QString nameOf(Workspace workspace)
{
    return workspace == Workspace::Lab ? QStringLiteral("lab") : QStringLiteral("live");
}

} // namespace

void MainWindow::restoreLayout()
{
    const QByteArray geometry = m_settings.geometry();
    if (geometry.isEmpty() || !restoreGeometry(geometry))
        resize(kFirstSize.boundedTo(QGuiApplication::primaryScreen()->availableSize()));
    m_workspace =
        m_settings.workspace() == nameOf(Workspace::Lab) ? Workspace::Lab : Workspace::Live;
    m_workspaces->actions()[static_cast<int>(m_workspace)]->setChecked(true);
    const QByteArray layout = m_settings.layout(nameOf(m_workspace));
    // Docks that a saved state does not name would stay where they are.
    arrangeDocks();
    if (!layout.isEmpty())
        restoreState(layout, kLayoutVersion);
}

void MainWindow::saveLayout()
{
    m_settings.setWorkspace(nameOf(m_workspace));
    m_settings.setLayout(nameOf(m_workspace), saveState(kLayoutVersion));
}

void MainWindow::showWorkspace(Workspace workspace)
{
    m_workspaces->actions()[static_cast<int>(workspace)]->setChecked(true);
    if (workspace == m_workspace)
        return;
    saveLayout();
    m_workspace = workspace;
    arrangeDocks();
    const QByteArray layout = m_settings.layout(nameOf(workspace));
    if (!layout.isEmpty())
        restoreState(layout, kLayoutVersion);
}

void MainWindow::resetLayout()
{
    arrangeDocks();
}

} // namespace kvscope
