#include "widgets/lab_progress.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/painted_panel.h"
#include "widgets/theme.h"

#include <QFontMetrics>
#include <QPainter>

#include <algorithm>

namespace kvscope {
namespace {

constexpr int kBar = 8;

int lineHeight()
{
    return QFontMetrics(uiFont(TextSize::Body, QFont::Bold)).height() + 2;
}

} // namespace

LabProgress::LabProgress(QWidget* parent)
    : QWidget(parent)
{
    setAccessibleName(tr("Progress"));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void LabProgress::setProgress(double share, double gone, double left, const QString& what)
{
    m_done = std::clamp(share, 0.0, 1.0);
    // The whole per cent that is reached; 100 only at the end.
    m_share = tr("%1 % of the time").arg(static_cast<int>(100.0 * m_done));
    m_times = tr("%1 gone").arg(secondsText(gone));
    if (left > 0.0)
        m_times += tr(", %1 left").arg(secondsText(left));
    m_what = what;
    setAccessibleDescription(QStringList{m_share, m_times, m_what}.join(QStringLiteral("; ")));
    setToolTip(m_what);
    update();
}

void LabProgress::setPaused(const QString& why)
{
    m_paused = why;
    update();
}

void LabProgress::clear()
{
    m_done = 0.0;
    m_share.clear();
    m_times.clear();
    m_what.clear();
    m_paused.clear();
    update();
}

QSize LabProgress::sizeHint() const
{
    return {260, kBar + 2 * lineHeight() + spacing::kTight};
}

void LabProgress::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.panel);
    painter.fillRect(0, 0, width(), kBar, theme.grid);
    painter.fillRect(0, 0, static_cast<int>(width() * m_done), kBar,
                     m_paused.isEmpty() ? theme.highlight : theme.caution);
    painter.setPen(theme.line);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(0, 0, width() - 1, kBar - 1);
    const QRect first(0, kBar + spacing::kHair, width(), lineHeight());
    painter.setFont(uiFont(TextSize::Body, QFont::Bold));
    painter.setPen(theme.ink);
    painter.drawText(first, Qt::AlignLeft | Qt::AlignVCenter, m_share);
    const int taken = painter.fontMetrics().horizontalAdvance(m_share) + spacing::kStep;
    painter.setFont(uiFont(TextSize::Secondary));
    painter.setPen(theme.ink2);
    paintElided(painter, first.adjusted(taken, 0, 0, 0), Qt::AlignRight | Qt::AlignVCenter,
                m_times);
    painter.setPen(m_paused.isEmpty() ? theme.ink3 : theme.caution);
    paintElided(painter, first.translated(0, lineHeight()), Qt::AlignLeft | Qt::AlignVCenter,
                m_paused.isEmpty() ? m_what : m_paused);
}

} // namespace kvscope
