// What is done with the panel that has the focus: keeping its picture, explaining it.
#include "app/main_window.h"
#include "app/panel_help.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QWhatsThis>

namespace kvscope {

QDockWidget* MainWindow::focusedDock() const
{
    for (QWidget* widget = focusWidget(); widget != nullptr; widget = widget->parentWidget())
        if (auto* dock = qobject_cast<QDockWidget*>(widget))
            return dock;
    return nullptr;
}

void MainWindow::exportFocused()
{
    const QDockWidget* dock = focusedDock();
    const bool hasPicture = dock != nullptr && dock != m_docks.chat && dock != m_docks.experiment &&
                            dock != m_docks.prompt;
    if (!hasPicture) {
        QWhatsThis::showText(mapToGlobal(rect().center()),
                             tr("Click the view that is to be kept, then press Ctrl+E again."),
                             this);
        return;
    }
    // Every view offers what it can be kept as in its own menu.
    QWidget* view = focusWidget();
    const QPoint middle = view->rect().center();
    QContextMenuEvent event(QContextMenuEvent::Keyboard, middle, view->mapToGlobal(middle));
    QCoreApplication::sendEvent(view, &event);
}

void MainWindow::showPanelHelp()
{
    const QDockWidget* dock = focusedDock();
    if (dock == nullptr)
        dock = m_workspace == Workspace::Lab ? m_docks.experiment : m_docks.chat;
    QWidget* view = dock->widget();
    const QString text = QStringLiteral("<b>%1</b><br>%2")
                             .arg(dock->windowTitle().toHtmlEscaped(),
                                  panelHelp(dock->objectName()).toHtmlEscaped());
    QWhatsThis::showText(view->mapToGlobal(QPoint(view->width() / 4, 24)), text, view);
}

} // namespace kvscope
