// What one click begins, beside an empty chat and in the lab.
#include "app/lab_page.h"
#include "app/live_panels.h"
#include "app/main_window.h"
#include "engine/base/resource_folder.h"
#include "widgets/chat_panel.h"
#include "widgets/lab_panel.h"
#include "widgets/start_actions.h"

#include <QAction>
#include <QDockWidget>
#include <QFileInfo>

namespace kvscope {
namespace {

using Start = StartActions::Action;

QString demoFolder()
{
    return QString::fromStdString((resourceFolder() / "demo").string());
}

/// What opening "demo" looks for.
bool isDemoThere()
{
    return QFileInfo::exists(demoFolder() + QStringLiteral("/config.yaml"));
}

} // namespace

void MainWindow::connectStart()
{
    connect(&m_panels->chat->startActions(), &StartActions::wanted, this, [this](Start action) {
        switch (action) {
        case Start::PasskeySweep:
            return startPasskeySweep();
        case Start::OpenDemo:
            return openModel(QStringLiteral("demo"));
        case Start::OpenSmolLm2:
            return openModel(m_options.smolLm2Path);
        }
    });
}

void MainWindow::startPasskeySweep()
{
    showWorkspace(Workspace::Lab);
    m_docks.experiment->raise();
    m_lab->startPasskeySweep();
}

QString MainWindow::passkeyRefusal() const
{
    if (currentPath().isEmpty())
        return tr("no model is open");
    if (!m_panels->model().canChat)
        return tr("the model has no tokenizer");
    return m_lab->isRunning() ? tr("an experiment runs") : QString();
}

void MainWindow::updateStart()
{
    StartActions& start = m_panels->chat->startActions();
    const QString path = currentPath();
    const QString refusal = passkeyRefusal();
    start.setRefusal(Start::PasskeySweep, refusal);
    m_passkeySweep->setEnabled(refusal.isEmpty());
    const bool hasDemo = isDemoThere();
    start.setOffered(Start::OpenDemo,
                     hasDemo && path != QStringLiteral("demo") && path != demoFolder());
    m_openDemo->setEnabled(hasDemo);
    const bool hasSmolLm2 = QFileInfo::exists(m_options.smolLm2Path);
    start.setRefusal(Start::OpenSmolLm2,
                     hasSmolLm2 ? QString() : tr("not downloaded (scripts/run does)"));
    start.setOffered(Start::OpenSmolLm2,
                     !hasSmolLm2 || QFileInfo(path) != QFileInfo(m_options.smolLm2Path));
}

} // namespace kvscope
