#pragma once

#include "engine/session/open_preview_snapshot.h"

#include <QDialog>
#include <QStringList>
#include <QTimer>

#include <memory>
#include <vector>

class QLineEdit;
class QListWidget;
class QPushButton;
class QTabWidget;

namespace kvscope {

class ChecksView;
class ElidedLabel;
class OpenOptions;
class OpenSummary;

/// What a model is and costs before it is opened, with the choices for opening it. The second page
/// is the file doctor: each check made of its files.
///
/// It reads no file: previewRequested() asks for a preview, which setPreview() brings when it is
/// there. Cancel leaves the open model in place.
class OpenDialog : public QDialog
{
    Q_OBJECT
public:
    explicit OpenDialog(QWidget* parent = nullptr);

    void setRecent(const QStringList& paths);
    void setRotaryOptions(const std::vector<RotaryOption>& options);
    /// The choices to begin with; an override of the rotation and a maximum context belong to one
    /// model and go when another path is chosen.
    void setChoice(const OpenChoice& choice);
    /// Chooses a model and asks for its preview.
    void setPath(const QString& path);
    QString path() const;
    OpenChoice choice() const;

    /// \param request  of previewRequested(); an answer to an older one is dropped
    void setPreview(quint64 request, std::shared_ptr<const OpenPreview> preview);

    enum class Page { Summary, Checks };
    void showPage(Page page);

    OpenOptions& options() { return *m_options; }
    OpenSummary& summary() { return *m_summary; }
    ChecksView& checks() { return *m_checks; }
    QPushButton& openButton() { return *m_open; }
    /// The line beside the buttons: that it fits, or why not, or why it cannot be opened.
    QString verdict() const;

public Q_SLOTS:
    void browseFile();
    void browseFolder();

Q_SIGNALS:
    void previewRequested(quint64 request, const QString& path, const QString& rotary);
    void openRequested(const QString& path, const kvscope::OpenChoice& choice);
    void exportFailed(const QString& message);

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void changeEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    QWidget* buildPathRow();
    QWidget* buildRecent();
    QWidget* buildRight();
    QWidget* buildBottom();
    /// Rotation and context belong to one model.
    void forgetModelsChoice();
    void pathEdited();
    void askForPreview();
    void showPreview();
    void showVerdict();
    QString commandLine() const;
    void openChosen();

    QLineEdit* m_path;
    QListWidget* m_recent;
    QTabWidget* m_pages;
    OpenSummary* m_summary;
    ChecksView* m_checks;
    OpenOptions* m_options;
    ElidedLabel* m_command;
    ElidedLabel* m_verdict;
    QPushButton* m_open;
    QTimer m_ask;                                 ///< from the last letter typed to the request
    std::shared_ptr<const OpenPreview> m_preview; ///< null: none, or being read
    quint64 m_request = 0;
};

} // namespace kvscope
