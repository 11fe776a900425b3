#include "widgets/message_bar_question.h"

#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace kvscope {

QuestionBar::QuestionBar(QWidget* parent)
    : QWidget(parent)
    , m_question(new QLabel)
    , m_yes(new QPushButton)
    , m_no(new QPushButton)
{
    m_question->setTextFormat(Qt::PlainText);
    m_question->setWordWrap(true);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(spacing::kWide, spacing::kStep, spacing::kWide, spacing::kStep);
    column->setSpacing(6);
    column->addWidget(m_question);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(spacing::kStep);
    buttons->addWidget(m_yes);
    buttons->addWidget(m_no);
    buttons->addStretch(1);
    column->addLayout(buttons);
    connect(m_yes, &QPushButton::clicked, this, [this] { answer(true); });
    connect(m_no, &QPushButton::clicked, this, [this] { answer(false); });
    hide();
}

void QuestionBar::ask(const QString& question, const QString& yes, const QString& no)
{
    m_question->setText(QStringLiteral("! ") + question);
    m_yes->setText(yes);
    m_no->setText(no);
    setAccessibleName(question);
    show();
    m_yes->setFocus();
}

void QuestionBar::withdraw()
{
    hide();
}

QString QuestionBar::question() const
{
    return m_question->text();
}

void QuestionBar::answer(bool isYes)
{
    hide();
    Q_EMIT answered(isYes);
}

void QuestionBar::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.cautionBackground);
    painter.fillRect(0, 0, width(), 1, theme.caution);
}

} // namespace kvscope
