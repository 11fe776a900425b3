#include "widgets/ring_painting.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/painted_panel.h"
#include "widgets/theme.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr std::int64_t kEvictedShown = 9; ///< fading over nine tokens
constexpr double kEvictedFrom = 4.0;      ///< pixels outside the ring
constexpr double kEvictedTo = 12.0;
constexpr double kTickLabelAt = 17.0;
constexpr double kPinLabelAt = 16.0;
constexpr double kHeadFrom = 3.0;
constexpr double kHeadTo = 14.0;

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::RingsPanel", text);
}

QPen edge(const QColor& color, double width)
{
    return QPen(color, width, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin);
}

/// A text's rectangle whose nearest side touches `anchor`, so that labels stand outside the ring.
QRectF labelRect(const QPointF& anchor, const QPointF& center, const QSizeF& size)
{
    const QPointF away = anchor - center;
    const double length = std::max(1.0, std::hypot(away.x(), away.y()));
    const double x = anchor.x() - size.width() / 2 + away.x() / length * size.width() / 2;
    const double y = anchor.y() - size.height() / 2 + away.y() / length * size.height() / 2;
    return {std::round(x), std::round(y), size.width(), size.height()};
}

QSizeF textSize(const QFont& font, const QString& text)
{
    const QFontMetricsF metrics(font);
    double width = 0;
    const QStringList lines = text.split(u'\n');
    for (const QString& line : lines)
        width = std::max(width, metrics.horizontalAdvance(line));
    return {std::ceil(width) + 1, metrics.height() * static_cast<double>(lines.size())};
}

RingFrame evictedFrame(const RingFrame& frame)
{
    return {frame.center, frame.outer + kEvictedFrom, frame.outer + kEvictedTo};
}

void paintEvicted(QPainter& painter, const RingFrame& frame, const RingPositions& ring,
                  const Theme& theme)
{
    painter.setBrush(Qt::NoBrush);
    for (std::int64_t back = 1; back <= kEvictedShown; ++back) {
        const std::int64_t position = ring.first() - back;
        if (position < 0 || ring.retained() <= 0)
            break;
        QColor color = theme.evicted;
        color.setAlphaF(static_cast<float>(kEvictedShown + 1 - back) / kEvictedShown);
        painter.setPen(edge(color, 1.0));
        painter.drawPath(
            slotPath(evictedFrame(frame), ring.capacity(), ring.slotOf(position), 3.0));
    }
}

QFont headFont()
{
    return uiFont(TextSize::Secondary, QFont::Bold);
}

QRectF headLabel(const RingFrame& frame, const RingPositions& ring)
{
    const double angle = slotAngle(ring.head(), ring.capacity());
    return labelRect(pointOnRing(frame.center, frame.outer + kHeadTo + 3, angle), frame.center,
                     textSize(headFont(), tr("head")));
}

void paintHead(QPainter& painter, const RingFrame& frame, const RingPositions& ring,
               const Theme& theme)
{
    const double angle = slotAngle(ring.head(), ring.capacity());
    painter.setPen(edge(theme.ink, 2.5));
    painter.drawLine(pointOnRing(frame.center, frame.inner - 4, angle),
                     pointOnRing(frame.center, frame.outer + kHeadFrom, angle));
    QPainterPath arrow(pointOnRing(frame.center, frame.outer + kHeadFrom, angle));
    const QPointF base = pointOnRing(frame.center, frame.outer + kHeadTo, angle);
    const QPointF across = pointOnRing({0, 0}, 5.0, angle + 90.0);
    arrow.lineTo(base + across);
    arrow.lineTo(base - across);
    arrow.closeSubpath();
    painter.fillPath(arrow, theme.ink);
    painter.setFont(headFont());
    painter.setPen(theme.ink);
    painter.drawText(headLabel(frame, ring), Qt::AlignCenter | Qt::TextDontClip, tr("head"));
}

double middleAngle(const RingPositions& ring, std::int64_t position)
{
    return slotAngle(ring.slotOf(position), ring.capacity()) +
           180.0 / static_cast<double>(ring.capacity());
}

QString pinText(const RingPositions& ring, std::int64_t position)
{
    if (ring.holds(position))
        return countText(position);
    // Beside the ring there is more height, above and below it more width.
    const bool isBeside = std::abs(pointOnRing({0, 0}, 1.0, middleAngle(ring, position)).y()) < 0.7;
    const QString text = isBeside ? tr("%1 left\nat %2") : tr("%1 left at %2");
    return text.arg(countText(position), countText(ring.leavesAt(position)));
}

QRectF pinLabel(const RingFrame& frame, const RingPositions& ring, std::int64_t position)
{
    return labelRect(
        pointOnRing(frame.center, frame.outer + kPinLabelAt, middleAngle(ring, position)),
        frame.center, textSize(headFont(), pinText(ring, position)));
}

void paintLastOut(QPainter& painter, const RingsLayout& layout, const RingPositions& ring,
                  const QString& piece, const Theme& theme)
{
    if (ring.first() <= 0 || ring.retained() <= 0)
        return;
    const QFont font = uiFont(TextSize::Secondary);
    const RingFrame& frame = layout.main;
    const std::int64_t position = ring.first() - 1;
    const double angle = middleAngle(ring, position);
    const QPointF box = pointOnRing(frame.center, frame.outer + kEvictedTo + 1, angle);
    // The corner of the same quadrant sees the box past the ring.
    const bool isRight = box.x() >= frame.center.x();
    const bool isTop = box.y() < frame.center.y();
    const double height = QFontMetricsF(font).height();
    const QRectF& area = layout.mainArea;
    const double half = frame.outer + 48;
    const QRectF row(std::max(area.left(), frame.center.x() - half),
                     isTop ? area.top() : area.bottom() - height, std::min(2 * half, area.width()),
                     height);
    const QFontMetricsF metrics(font);
    const QString text =
        metrics.elidedText(tr("last out: %1 %2").arg(countText(position), piece).trimmed(),
                           Qt::ElideRight, row.width() / 2 - 10);
    const double width = metrics.horizontalAdvance(text);
    painter.setFont(font);
    painter.setPen(theme.ink3);
    painter.drawText(row, (isRight ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter, text);
    const double inset = std::min(width / 2, 16.0);
    const QPointF from(isRight ? row.right() - inset : row.left() + inset,
                       isTop ? row.bottom() : row.top());
    painter.setPen(edge(theme.evicted, 1.0));
    painter.drawLine(from, box);
}

struct CentreLine
{
    QString text;
    QFont font;
    QColor color;
};

std::vector<CentreLine> centreLines(const RingPositions& ring, const RingWords& words,
                                    const Theme& theme, bool isSmall)
{
    const QFont small = uiFont(TextSize::Secondary);
    std::vector<CentreLine> lines;
    lines.push_back(
        {isSmall ? QStringLiteral("L%1").arg(words.layer) : tr("Layer %1").arg(words.layer),
         uiFont(TextSize::Heading, QFont::Bold), theme.ink});
    const QString window = QStringLiteral("W = %1").arg(countText(ring.window()));
    lines.push_back({isSmall ? window : tr("windowed, %1").arg(window),
                     uiFont(TextSize::Secondary, QFont::Bold), theme.windowed});
    if (ring.retained() <= 0) {
        lines.push_back({tr("empty"), small, theme.ink3});
        return lines;
    }
    lines.push_back(
        {ring.isFull()
             ? tr("full, turn %1").arg(countText(ring.turn()))
             : tr("%1 of %2 slots").arg(countText(ring.retained()), countText(ring.capacity())),
         small, theme.ink2});
    const QString held = rangeText(ring.first(), ring.end() - 1);
    lines.push_back({isSmall ? held : tr("holds %1").arg(held), small, theme.ink2});
    if (slotsPerMark(ring.capacity()) > 1)
        lines.push_back(
            {tr("%1 slots a mark").arg(slotsPerMark(ring.capacity())), small, theme.ink3});
    return lines;
}

void paintCentre(QPainter& painter, const RingFrame& frame, const RingPositions& ring,
                 const RingWords& words, const Theme& theme)
{
    auto lines = centreLines(ring, words, theme, frame.inner < 64);
    const auto totalHeight = [&lines] {
        double height = 0;
        for (const CentreLine& line : lines)
            height += QFontMetricsF(line.font).height() + 1;
        return height;
    };
    while (lines.size() > 1 && totalHeight() > 1.6 * frame.inner)
        lines.pop_back();
    double y = frame.center.y() - totalHeight() / 2;
    for (const CentreLine& line : lines) {
        const QFontMetricsF metrics(line.font);
        const double offset = std::abs(y + metrics.height() / 2 - frame.center.y());
        const double half =
            std::sqrt(std::max(0.0, frame.inner * frame.inner - offset * offset)) - 5;
        painter.setFont(line.font);
        painter.setPen(line.color);
        paintElided(painter, {frame.center.x() - half, std::round(y), 2 * half, metrics.height()},
                    Qt::AlignCenter, line.text);
        y += metrics.height() + 1;
    }
}

} // namespace

void paintRingFurniture(QPainter& painter, const RingsLayout& layout, const RingPositions& ring,
                        const RingWords& words, const Theme& theme)
{
    const RingFrame& frame = layout.main;
    if (ring.capacity() > 0) {
        paintEvicted(painter, frame, ring, theme);
        paintHead(painter, frame, ring, theme);
        paintLastOut(painter, layout, ring, words.lastOut, theme);
    }
    paintCentre(painter, frame, ring, words, theme);
}

void paintRingTicks(QPainter& painter, const RingFrame& frame, const RingPositions& ring,
                    std::optional<std::int64_t> pinned, const Theme& theme)
{
    if (ring.capacity() <= 0)
        return;
    const QFont font = uiFont(TextSize::Axis);
    painter.setFont(font);
    const QRectF head = headLabel(frame, ring);
    const QRectF pin = pinned && *pinned < ring.end() ? pinLabel(frame, ring, *pinned) : QRectF();
    const std::int64_t step = tickStep(ring.capacity());
    for (std::int64_t slot = 0; slot < ring.capacity(); slot += step) {
        const double angle = slotAngle(slot, ring.capacity());
        if (slot > 0 && 360.0 - angle < 12.0) // would run into slot 0
            continue;
        const QString text = countText(slot);
        const QRectF label = labelRect(pointOnRing(frame.center, frame.outer + kTickLabelAt, angle),
                                       frame.center, textSize(font, text));
        const QRectF room = label.adjusted(-3, 0, 3, 0);
        if (room.intersects(head) || room.intersects(pin))
            continue;
        painter.setPen(edge(theme.ink3, 1.0));
        painter.drawLine(pointOnRing(frame.center, frame.outer + 1, angle),
                         pointOnRing(frame.center, frame.outer + 4, angle));
        painter.setPen(theme.ink2);
        painter.drawText(label, Qt::AlignCenter | Qt::TextDontClip, text);
    }
}

void paintRingHover(QPainter& painter, const RingFrame& frame, const RingPositions& ring,
                    std::int64_t position, const Theme& theme)
{
    if (!ring.holds(position))
        return;
    const RingFrame wider{frame.center, frame.inner - 3, frame.outer + 3};
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.ink, 1.8, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin));
    painter.drawPath(slotPath(wider, ring.capacity(), ring.slotOf(position), 4.0));
}

void paintRingPin(QPainter& painter, const RingFrame& frame, const RingPositions& ring,
                  std::int64_t position, const Theme& theme, RingPinWords words)
{
    if (ring.capacity() <= 0 || position < 0 || position >= ring.end())
        return;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.selection, 1.8, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin));
    const std::int64_t slot = ring.slotOf(position);
    if (ring.holds(position)) {
        const RingFrame wider{frame.center, frame.inner - 3, frame.outer + 3};
        painter.drawPath(slotPath(wider, ring.capacity(), slot, 4.0));
    } else {
        const RingFrame box = words == RingPinWords::Shown
                                  ? evictedFrame(frame)
                                  : RingFrame{frame.center, frame.outer + 1, frame.outer + 5};
        painter.drawPath(slotPath(box, ring.capacity(), slot, 5.0));
    }
    if (words == RingPinWords::Hidden)
        return;
    painter.setFont(headFont());
    painter.setPen(theme.selection);
    painter.drawText(pinLabel(frame, ring, position), Qt::AlignCenter | Qt::TextDontClip,
                     pinText(ring, position));
}

void paintSmallHead(QPainter& painter, const RingFrame& frame, const RingPositions& ring,
                    const Theme& theme)
{
    const double angle = slotAngle(ring.head(), ring.capacity());
    painter.setPen(edge(theme.ink, 2.0));
    painter.drawLine(pointOnRing(frame.center, frame.inner - 2, angle),
                     pointOnRing(frame.center, frame.outer + 4, angle));
}

} // namespace kvscope
