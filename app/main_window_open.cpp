#include "app/dropped_text.h"
#include "app/live_panels.h"
#include "app/main_window.h"
#include "app/preview_reader.h"
#include "engine/session/open_preview.h"
#include "widgets/chat_panel.h"
#include "widgets/message_bar.h"

#include <QDropEvent>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMimeData>

namespace kvscope {

OpenChoice MainWindow::usualChoice() const
{
    OpenChoice choice;
    choice.device = m_options.device.toStdString();
    choice.dtype = m_options.dtype.toStdString();
    return choice;
}

void MainWindow::openModel(const QString& path)
{
    openModelAs(path, usualChoice());
}

void MainWindow::openModelAs(const QString& path, const OpenChoice& choice)
{
    m_opening = QFileInfo(path).absoluteFilePath();
    OpenRequest request;
    request.path = path == "demo" ? "demo" : m_opening.toStdString();
    request.device = choice.device;
    request.dtype = choice.dtype;
    request.cacheDtype = choice.cacheDtype;
    request.rotary = choice.rotary;
    request.contextLimit = choice.maxContext;
    m_engine->session().stopGenerating();
    m_engine->session().cancelOpening(); // the newest wish counts
    m_engine->session().open(std::move(request));
}

void MainWindow::openDropped(const QString& path, Qt::KeyboardModifiers modifiers)
{
    if (!looksLikeModel(path))
        m_textReader->read(path);
    else if (modifiers.testFlag(Qt::ShiftModifier))
        showOpenDialog(path);
    else
        openModel(path);
}

void MainWindow::openRecent(const QString& path)
{
    if (QGuiApplication::keyboardModifiers().testFlag(Qt::ShiftModifier))
        showOpenDialog(path);
    else
        openModel(path);
}

OpenDialog& MainWindow::openDialog()
{
    if (m_openDialog != nullptr)
        return *m_openDialog;
    m_openDialog = new OpenDialog(this);
    m_openDialog->setRotaryOptions(rotaryOptions());
    m_openDialog->setChoice(usualChoice());
    connect(m_openDialog, &OpenDialog::previewRequested, m_previewReader,
            [this](quint64 request, const QString& path) {
                m_previewReader->read(request, path, m_openDialog->choice());
            });
    connect(m_previewReader, &PreviewReader::previewRead, m_openDialog, &OpenDialog::setPreview);
    connect(m_openDialog, &OpenDialog::openRequested, this, &MainWindow::openModelAs);
    connect(m_openDialog, &QDialog::finished, m_previewReader, &PreviewReader::cancel);
    connect(m_openDialog, &OpenDialog::exportFailed, this, [this](const QString& message) {
        m_panels->chat->messageBar().add(MessageBar::Kind::Failure, message);
    });
    return *m_openDialog;
}

void MainWindow::showOpenDialog(const QString& path)
{
    OpenDialog& dialog = openDialog();
    dialog.setRecent(m_settings.recentFiles());
    dialog.showPage(OpenDialog::Page::Summary);
    dialog.setPath(path);
    dialog.open(); // modal to this window, which goes on working
}

QString MainWindow::currentPath() const
{
    return QString::fromStdString(m_panels->model().path);
}

void MainWindow::askForModel()
{
    const QString current = currentPath();
    showOpenDialog(current.isEmpty() ? m_settings.recentFiles().value(0) : current);
}

void MainWindow::askForFolder()
{
    askForModel();
    openDialog().browseFolder();
}

void MainWindow::showFileDoctor()
{
    askForModel();
    openDialog().showPage(OpenDialog::Page::Checks);
}

void MainWindow::dropEvent(QDropEvent* event)
{
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile())
            openDropped(url.toLocalFile(), event->modifiers());
    event->acceptProposedAction();
}

} // namespace kvscope
