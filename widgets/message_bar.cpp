#include "widgets/message_bar.h"

#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>

#include <algorithm>

namespace kvscope {

MessageBar::MessageBar(QWidget* parent)
    : QWidget(parent)
    , m_glyph(new QLabel)
    , m_text(new ElidedLabel)
    , m_count(new QLabel)
    , m_copy(new QToolButton)
    , m_dismiss(new QToolButton)
{
    m_copy->setText(tr("Copy"));
    m_copy->setToolTip(tr("Copy the message with its details"));
    m_dismiss->setText(QStringLiteral("✕"));
    m_dismiss->setToolTip(tr("Dismiss"));
    m_dismiss->setAccessibleName(tr("Dismiss"));
    for (QToolButton* button : {m_copy, m_dismiss}) {
        button->setAutoRaise(true);
        button->setMinimumSize(spacing::kListRow, spacing::kListRow);
    }
    m_text->setMaxLines(3);
    QSizePolicy wide = m_text->sizePolicy();
    wide.setHorizontalPolicy(QSizePolicy::Expanding);
    m_text->setSizePolicy(wide);
    auto* line = new QHBoxLayout(this);
    line->setContentsMargins(spacing::kStep, 3, spacing::kTight, 3);
    line->setSpacing(6);
    line->addWidget(m_glyph);
    line->addWidget(m_text, 1);
    line->addWidget(m_count);
    line->addWidget(m_copy);
    line->addWidget(m_dismiss);
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    connect(m_copy, &QToolButton::clicked, this, &MessageBar::copy);
    connect(m_dismiss, &QToolButton::clicked, this, &MessageBar::dismiss);
    hide();
}

void MessageBar::add(Kind kind, const QString& text, const QString& detail)
{
    const Message message{kind, text, detail};
    if (std::find(m_messages.begin(), m_messages.end(), message) != m_messages.end())
        return;
    m_messages.push_front(message);
    showFirst();
}

void MessageBar::clear()
{
    m_messages.clear();
    showFirst();
}

QString MessageBar::text() const
{
    return m_messages.empty() ? QString() : m_messages.front().text;
}

void MessageBar::dismiss()
{
    if (m_messages.empty())
        return;
    m_messages.pop_front();
    showFirst();
    if (m_messages.empty())
        Q_EMIT emptied();
}

void MessageBar::copy() const
{
    if (m_messages.empty())
        return;
    const Message& message = m_messages.front();
    QApplication::clipboard()->setText(
        message.detail.isEmpty() ? message.text : message.text + u'\n' + message.detail);
}

void MessageBar::showFirst()
{
    setVisible(!m_messages.empty());
    if (m_messages.empty())
        return;
    const Theme& theme = Theme::current();
    const Message& message = m_messages.front();
    const bool isFailure = message.kind == Kind::Failure;
    const QColor color = isFailure ? theme.bad : theme.caution;
    QPalette glyphPalette = m_glyph->palette();
    glyphPalette.setColor(QPalette::WindowText, color);
    m_glyph->setPalette(glyphPalette);
    m_glyph->setFont(uiFont(TextSize::Body, QFont::Bold));
    m_glyph->setText(isFailure ? QStringLiteral("✕") : QStringLiteral("!"));
    m_text->setText(message.text);
    m_text->setToolTip(
        message.detail.isEmpty() ? QString() : plainTooltip(message.text + u'\n' + message.detail));
    m_count->setVisible(m_messages.size() > 1);
    m_count->setText(tr("1 of %1").arg(m_messages.size()));
    setAccessibleName(isFailure ? tr("Failure") : tr("Notice"));
    setAccessibleDescription(message.text);
    update();
}

void MessageBar::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    const bool isFailure = !m_messages.empty() && m_messages.front().kind == Kind::Failure;
    QPainter painter(this);
    painter.fillRect(rect(), isFailure ? theme.badBackground : theme.cautionBackground);
    painter.fillRect(0, height() - 1, width(), 1, isFailure ? theme.bad : theme.caution);
}

void MessageBar::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && !m_messages.empty())
        showFirst();
}

} // namespace kvscope
