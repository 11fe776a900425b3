#include "widgets/lab_command_line.h"

#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>

namespace kvscope {

LabCommandLine::LabCommandLine(QWidget* parent)
    : QWidget(parent)
    , m_text(new QPlainTextEdit)
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(spacing::kWide, spacing::kTight, spacing::kWide, spacing::kStep);
    column->setSpacing(spacing::kHair);
    auto* row = new QHBoxLayout;
    auto* title = new QLabel(tr("Same on the command line"));
    title->setFont(uiFont(TextSize::Body, QFont::Bold));
    auto* button = new QToolButton;
    button->setText(tr("Copy"));
    button->setToolTip(tr("Copy the command line for this view (Ctrl+Shift+C)"));
    row->addWidget(title, 1);
    row->addWidget(button);
    column->addLayout(row);
    column->addWidget(m_text, 1);
    m_text->setReadOnly(true);
    m_text->setFont(digitFont(TextSize::Secondary));
    m_text->setWordWrapMode(QTextOption::WrapAnywhere);
    m_text->setAccessibleName(tr("Command line"));
    m_text->setTabChangesFocus(true);
    connect(button, &QToolButton::clicked, this, &LabCommandLine::copy);
}

void LabCommandLine::setCommand(const QString& command)
{
    if (command != m_text->toPlainText())
        m_text->setPlainText(command);
}

QString LabCommandLine::command() const
{
    return m_text->toPlainText();
}

void LabCommandLine::copy() const
{
    QApplication::clipboard()->setText(command());
}

void LabCommandLine::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.alternateRow);
    painter.fillRect(0, 0, width(), 1, theme.line);
}

} // namespace kvscope
