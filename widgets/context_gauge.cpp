#include "widgets/context_gauge.h"

#include "widgets/chat_reach.h"
#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QFontMetrics>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr int kMargin = spacing::kWide;
constexpr int kBarHeight = 10;

int lineHeight(TextSize size)
{
    return QFontMetrics(uiFont(size)).height();
}

} // namespace

double gaugeX(std::int64_t position, std::int64_t limit, double width)
{
    if (limit <= 0)
        return 0.0;
    const double share = static_cast<double>(position) / static_cast<double>(limit);
    return std::clamp(share, 0.0, 1.0) * width;
}

ContextGaugeState ContextGaugeState::of(const EngineSnapshot& snapshot, std::int64_t limit,
                                        std::int64_t trained)
{
    ContextGaugeState state;
    state.used = snapshot.cache.contextLength;
    state.limit = limit;
    state.trained = trained;
    const ChatReach reach = ChatReach::of(snapshot.cache);
    if (reach.windowedLayers > 0)
        state.firstInWindows = reach.firstInWindows;
    if (snapshot.phase == Phase::Prefill && snapshot.prefill.totalTokens > 0) {
        state.reused = snapshot.prefill.reusedTokens;
        state.planned = state.reused + snapshot.prefill.totalTokens;
    }
    return state;
}

ContextGauge::ContextGauge(QWidget* parent)
    : PaintedPanel(QStringLiteral("context"), tr("Context"), parent)
{
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setDescription(leftText());
}

void ContextGauge::setState(const ContextGaugeState& state)
{
    if (state == m_state)
        return;
    m_state = state;
    setDescription(usedText() + QStringLiteral(", ") + leftText());
    update();
}

void ContextGauge::setPinned(std::optional<std::int64_t> position)
{
    if (position == m_pinned)
        return;
    m_pinned = position;
    update();
}

QString ContextGauge::usedText() const
{
    if (m_state.limit <= 0)
        return m_state.used > 0 ? countText(m_state.used) : missingText();
    return tr("%1 of %2").arg(countText(m_state.used), countText(m_state.limit));
}

QString ContextGauge::leftText() const
{
    if (m_state.limit <= 0)
        return m_state.used > 0 ? tr("limit unknown") : tr("no model");
    const double share =
        100.0 * static_cast<double>(m_state.used) / static_cast<double>(m_state.limit);
    // Nothing is rounded to "0 %" while something is used, nor to "100 %" while something is left.
    int percent = static_cast<int>(std::lround(share));
    if (m_state.used > 0 && m_state.used < m_state.limit)
        percent = std::clamp(percent, 1, 99);
    const std::int64_t left = std::max<std::int64_t>(0, m_state.limit - m_state.used);
    return tr("%1 % used, %2 left").arg(percent).arg(countText(left));
}

QString ContextGauge::limitText() const
{
    if (m_state.limit <= 0)
        return {};
    if (m_state.trained <= 0)
        return tr("trained length unknown");
    if (m_state.limit == m_state.trained)
        return tr("trained %1").arg(countText(m_state.trained));
    if (m_state.limit < m_state.trained)
        return tr("limited, trained %1").arg(countText(m_state.trained));
    if (m_state.limit > std::max(m_state.trained, m_state.extended)) // a person chose it
        return tr("limit %1, trained %2").arg(countText(m_state.limit), countText(m_state.trained));
    const double factor = static_cast<double>(m_state.limit) / static_cast<double>(m_state.trained);
    return tr("extended × %1 to %2").arg(QString::number(factor, 'g', 3), countText(m_state.limit));
}

QSize ContextGauge::sizeHint() const
{
    return {320, spacing::kStep + lineHeight(TextSize::Body) + spacing::kTight + kBarHeight + 3 +
                     lineHeight(TextSize::Secondary) + spacing::kTight};
}

void ContextGauge::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paintTo(painter, rect(), Theme::current());
    paintFocus(painter);
}

void ContextGauge::paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    painter.fillRect(area, theme.panel);
    painter.fillRect(QRectF(area.left(), area.top(), area.width(), 1), theme.line);
    const QRectF inner = area.adjusted(kMargin, spacing::kStep, -kMargin, -spacing::kTight);
    const QRectF bar(inner.left(), inner.top() + lineHeight(TextSize::Body) + spacing::kTight,
                     inner.width(), kBarHeight);
    paintTexts(painter, inner, bar, theme);
    paintBar(painter, bar, theme);
}

void ContextGauge::paintBar(QPainter& painter, const QRectF& bar, const Theme& theme) const
{
    const auto stretch = [&](std::int64_t first, std::int64_t end) {
        const double left = std::round(bar.left() + gaugeX(first, m_state.limit, bar.width()));
        const double right = std::round(bar.left() + gaugeX(end, m_state.limit, bar.width()));
        return QRectF(left, bar.top(), right - left, bar.height());
    };
    const bool isReading = m_state.planned > 0;
    const std::int64_t solidEnd = isReading ? std::min(m_state.reused, m_state.used) : m_state.used;
    painter.fillRect(bar, theme.grid);
    painter.fillRect(stretch(0, solidEnd), theme.global);
    if (isReading) {
        painter.fillRect(stretch(m_state.used, m_state.planned), theme.highlightBackground);
        paintSlack(painter, stretch(solidEnd, m_state.used), theme);
        painter.setPen(QPen(theme.global, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(stretch(solidEnd, m_state.planned).adjusted(0.5, 0.5, -0.5, -0.5));
    } else if (m_state.firstInWindows >= 0 && m_state.used > m_state.firstInWindows) {
        QRectF windows = stretch(m_state.firstInWindows, m_state.used);
        windows.setRight(std::max(windows.right(), bar.left() + 2.0)); // never too thin to see
        windows.setLeft(std::min(windows.left(), windows.right() - 2.0));
        painter.fillRect(windows, theme.windowed);
    }
    painter.setPen(theme.line);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(bar.adjusted(-0.5, -0.5, 0.5, 0.5));
    if (m_state.trained > 0 && m_state.trained < m_state.limit) {
        const double x =
            std::round(bar.left() + gaugeX(m_state.trained, m_state.limit, bar.width()));
        painter.fillRect(QRectF(x, bar.top() - 2, 1, bar.height() + 5), theme.ink);
    }
    if (m_pinned && *m_pinned < m_state.used) {
        const double x = std::round(bar.left() + gaugeX(*m_pinned, m_state.limit, bar.width()));
        painter.fillRect(QRectF(x - 1, bar.top() - 1, 2, bar.height() + 2), theme.selection);
    }
}

void ContextGauge::paintTexts(QPainter& painter, const QRectF& area, const QRectF& bar,
                              const Theme& theme) const
{
    const QFont small = uiFont(TextSize::Secondary);
    const QFont bold = uiFont(TextSize::Body, QFont::Bold);
    const int height = lineHeight(TextSize::Body);
    const bool isPast = m_state.isPastTrained();
    // First line: title, used and, where there is room, the share and what is left.
    double x = area.left();
    painter.setFont(bold);
    painter.setPen(theme.ink);
    painter.drawText(QRectF(x, area.top(), area.width(), height), Qt::AlignVCenter, tr("Context"));
    x += painter.fontMetrics().horizontalAdvance(tr("Context")) + spacing::kStep;
    painter.setFont(uiFont());
    const double usedWidth = painter.fontMetrics().horizontalAdvance(usedText());
    painter.drawText(QRectF(x, area.top(), area.right() - x, height), Qt::AlignVCenter, usedText());
    x += usedWidth + spacing::kStep;
    painter.setFont(small);
    painter.setPen(theme.ink2);
    if (painter.fontMetrics().horizontalAdvance(leftText()) <= area.right() - x)
        painter.drawText(QRectF(x, area.top(), area.right() - x, height),
                         Qt::AlignRight | Qt::AlignVCenter, leftText());
    // Second line: the trained mark's label under its mark, the limit at the right.
    const double top = bar.bottom() + 3;
    const int smallHeight = lineHeight(TextSize::Secondary);
    const QFontMetrics metrics(small);
    const QString limit = isPast ? QStringLiteral("! ") + limitText() : limitText();
    const double limitWidth = std::min<double>(metrics.horizontalAdvance(limit), area.width());
    painter.setPen(isPast ? theme.caution : theme.ink2);
    paintElided(painter, QRectF(area.right() - limitWidth - 1, top, limitWidth + 1, smallHeight),
                Qt::AlignRight | Qt::AlignVCenter, limit);
    if (m_state.trained <= 0 || m_state.trained >= m_state.limit)
        return;
    const QString trained = tr("trained %1").arg(countText(m_state.trained));
    const double width = metrics.horizontalAdvance(trained);
    const double mark = bar.left() + gaugeX(m_state.trained, m_state.limit, bar.width());
    const double room = area.right() - limitWidth - spacing::kStep;
    const double left =
        std::clamp(mark - width / 2, area.left(), std::max(area.left(), room - width));
    if (left + width > room)
        return;
    painter.setPen(theme.ink2);
    painter.drawText(QRectF(left, top, width + 1, smallHeight), Qt::AlignVCenter, trained);
}

bool ContextGauge::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        QStringList lines{usedText(), leftText(), limitText()};
        if (m_state.trained > 0 && m_state.trained < m_state.limit)
            lines << tr("trained on %1 positions").arg(countText(m_state.trained));
        if (m_state.firstInWindows >= 0 && m_state.used > 0)
            lines << tr("windows hold %1").arg(rangeText(m_state.firstInWindows, m_state.used - 1));
        if (m_state.planned > 0)
            lines << tr("reading the prompt up to %1").arg(countText(m_state.planned));
        lines.removeAll(QString());
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(),
                           plainTooltip(lines.join(u'\n')), this);
        return true;
    }
    return PaintedPanel::event(event);
}

SnapshotTable ContextGauge::exportTable() const
{
    SnapshotTable table;
    table.columns = {tr("quantity"), tr("positions")};
    const auto add = [&table](const QString& name, std::int64_t value) {
        table.rows << QStringList{name, QString::number(value)};
    };
    add(tr("used"), m_state.used);
    add(tr("limit"), m_state.limit);
    add(tr("trained"), m_state.trained);
    if (m_state.firstInWindows >= 0)
        add(tr("first in windows"), m_state.firstInWindows);
    if (m_state.planned > 0) {
        add(tr("reused by the prefill"), m_state.reused);
        add(tr("end of the prefill"), m_state.planned);
    }
    return table;
}

} // namespace kvscope
