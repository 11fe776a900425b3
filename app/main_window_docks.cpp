#include "app/live_panels.h"
#include "app/main_window.h"
#include "widgets/chat_panel.h"
#include "widgets/dock_title.h"
#include "widgets/global_layers_panel.h"
#include "widgets/layer_table.h"
#include "widgets/loss_plot.h"
#include "widgets/memory_plot.h"
#include "widgets/rings_panel.h"
#include "widgets/token_panel.h"

#include <QDockWidget>
#include <QGuiApplication>
#include <QScreen>

namespace kvscope {
namespace {

constexpr QSize kFirstSize{1440, 900};
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
    arrangeDocks();
}

void MainWindow::arrangeDocks()
{
    for (QDockWidget* dock : {m_docks.chat, m_docks.rings, m_docks.globalLayers, m_docks.memory,
                              m_docks.loss, m_docks.layers, m_docks.token}) {
        dock->setFloating(false);
        removeDockWidget(dock);
    }
    addDockWidget(Qt::LeftDockWidgetArea, m_docks.chat);
    addDockWidget(Qt::RightDockWidgetArea, m_docks.rings);
    splitDockWidget(m_docks.rings, m_docks.token, Qt::Horizontal);
    splitDockWidget(m_docks.rings, m_docks.globalLayers, Qt::Vertical);
    tabifyDockWidget(m_docks.token, m_docks.layers);
    addDockWidget(Qt::BottomDockWidgetArea, m_docks.memory);
    splitDockWidget(m_docks.memory, m_docks.loss, Qt::Horizontal);
    for (QDockWidget* dock : {m_docks.chat, m_docks.rings, m_docks.globalLayers, m_docks.memory,
                              m_docks.loss, m_docks.layers, m_docks.token})
        dock->show();
    m_docks.token->raise();
    resizeDocks({m_docks.chat, m_docks.rings, m_docks.token}, {340, 838, 262}, Qt::Horizontal);
    resizeDocks({m_docks.rings, m_docks.globalLayers, m_docks.memory}, {300, 190, 262},
                Qt::Vertical);
    resizeDocks({m_docks.memory, m_docks.loss}, {550, 550}, Qt::Horizontal);
}

void MainWindow::restoreLayout()
{
    const QByteArray geometry = m_settings.geometry();
    if (geometry.isEmpty() || !restoreGeometry(geometry))
        resize(kFirstSize.boundedTo(QGuiApplication::primaryScreen()->availableSize()));
    const QByteArray layout = m_settings.layout();
    if (layout.isEmpty() || !restoreState(layout, kLayoutVersion))
        arrangeDocks();
}

void MainWindow::resetLayout()
{
    arrangeDocks();
}

} // namespace kvscope
