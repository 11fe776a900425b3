#pragma once

#include "engine/session/open_preview_snapshot.h"

#include <QScrollArea>

class QGridLayout;
class QLabel;
class QVBoxLayout;

namespace kvscope {

class FitTable;

/// What a checkpoint is and whether it fits, before it is opened.
class OpenSummary : public QScrollArea
{
    Q_OBJECT
public:
    explicit OpenSummary(QWidget* parent = nullptr);

    void setPreview(const OpenPreview& preview, const OpenChoice& choice);
    /// The memory of another choice for the same preview.
    void setChoice(const OpenPreview& preview, const OpenChoice& choice);
    /// Instead of a summary: one bold line and what to do.
    void showMessage(const QString& title, const QString& text);
    FitTable& fits() { return *m_fits; }
    QString shownMessage() const;

private:
    QWidget* buildMessage();
    QWidget* buildModel();
    QWidget* buildFit();
    void clearLines();

    QWidget* m_message;
    QLabel* m_title;
    QLabel* m_text;
    QWidget* m_model;
    QGridLayout* m_lines;
    QWidget* m_fit;
    QLabel* m_longest;
    FitTable* m_fits;
};

} // namespace kvscope
