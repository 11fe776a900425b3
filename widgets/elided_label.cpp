#include "widgets/elided_label.h"

#include <QHelpEvent>
#include <QPainter>
#include <QTextLayout>
#include <QToolTip>

#include <algorithm>

namespace kvscope {

ElidedLabel::ElidedLabel(QWidget* parent)
    : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void ElidedLabel::setText(const QString& text)
{
    if (text == m_text)
        return;
    m_text = text;
    m_text.replace(u'\n', u' ');
    setAccessibleName(m_text);
    updateGeometry();
    update();
}

void ElidedLabel::setInk(QColor Theme::*ink)
{
    m_ink = ink;
    update();
}

void ElidedLabel::setAlignment(Qt::Alignment alignment)
{
    m_alignment = alignment;
    update();
}

void ElidedLabel::setMaxLines(int lines)
{
    m_maxLines = std::max(1, lines);
    QSizePolicy policy(QSizePolicy::Preferred,
                       m_maxLines > 1 ? QSizePolicy::Minimum : QSizePolicy::Fixed);
    policy.setHeightForWidth(m_maxLines > 1);
    setSizePolicy(policy);
    updateGeometry();
    update();
}

QStringList ElidedLabel::linesFor(int width) const
{
    QStringList lines;
    QTextLayout layout(m_text, font());
    layout.beginLayout();
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(width);
        const bool isLast = lines.size() + 1 == m_maxLines;
        const QString text = m_text.mid(line.textStart(), isLast ? -1 : line.textLength());
        lines << fontMetrics().elidedText(text, Qt::ElideRight, width);
        if (isLast)
            break;
    }
    layout.endLayout();
    return lines;
}

bool ElidedLabel::isElided() const
{
    if (m_maxLines == 1)
        return fontMetrics().horizontalAdvance(m_text) > width();
    const QStringList lines = linesFor(width());
    return lines.size() == m_maxLines && !m_text.endsWith(lines.last());
}

QSize ElidedLabel::sizeHint() const
{
    return {fontMetrics().horizontalAdvance(m_text) + 1, fontMetrics().height()};
}

QSize ElidedLabel::minimumSizeHint() const
{
    return {0, fontMetrics().height()};
}

int ElidedLabel::heightForWidth(int width) const
{
    const auto lines = m_maxLines > 1 ? std::max<qsizetype>(1, linesFor(width).size()) : 1;
    return static_cast<int>(lines) * fontMetrics().height();
}

bool ElidedLabel::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip && toolTip().isEmpty()) {
        if (isElided())
            QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), plainTooltip(m_text),
                               this);
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

void ElidedLabel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setPen(Theme::current().*m_ink);
    const QStringList lines =
        m_maxLines > 1 ? linesFor(width())
                       : QStringList{fontMetrics().elidedText(m_text, Qt::ElideRight, width())};
    painter.drawText(rect(), static_cast<int>(m_alignment | Qt::AlignVCenter),
                     lines.join(QLatin1Char('\n')));
}

QString plainTooltip(const QString& text)
{
    const bool isLong = text.size() > 60 && !text.contains(u'\n');
    return QStringLiteral("<p style='white-space:%1'>%2</p>")
        .arg(isLong ? QStringLiteral("pre-wrap") : QStringLiteral("pre"), text.toHtmlEscaped());
}

} // namespace kvscope
