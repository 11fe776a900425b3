// Answer kinds as a stacked bar: in the cells of a sweep's map, and by depth below it.
#include "widgets/fonts.h"
#include "widgets/sweep_map_painter.h"
#include "widgets/theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kFoundShade = 0.75; ///< of the accuracy ramp, for found answers

double widthOf(const QFont& font, const QString& text)
{
    return QFontMetricsF(font).horizontalAdvance(text);
}

/// An outline on whole pixels.
void outline(QPainter& painter, const QRectF& bar, const QColor& color)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(color, 1, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin));
    painter.drawRect(bar.adjusted(0, 0, -1, -1));
    painter.restore();
}

} // namespace

QColor kindColor(AnswerKind kind, const Theme& theme)
{
    switch (kind) {
    case AnswerKind::Found:
        return theme.accuracyColor(kFoundShade);
    case AnswerKind::BareWrong:
        return theme.wrongKinds[0];
    case AnswerKind::RestatedWrong:
        return theme.wrongKinds[1];
    case AnswerKind::NoNumber:
        return theme.wrongKinds[2];
    case AnswerKind::Empty:
        return Qt::transparent;
    }
    return Qt::transparent;
}

std::vector<KindSegment> kindSegments(const SweepCell& cell, bool withFound)
{
    std::vector<KindSegment> segments;
    for (std::size_t i = 0; i < kNumAnswerKinds; ++i) {
        const auto kind = static_cast<AnswerKind>(i);
        if (cell.kinds[i] > 0 && (withFound || kind != AnswerKind::Found))
            segments.push_back({kind, cell.kinds[i]});
    }
    return segments;
}

void paintKindBar(QPainter& painter, const QRectF& area, double pixelsPerAnswer,
                  const std::vector<KindSegment>& segments, const Theme& theme)
{
    const QFont font = digitFont(TextSize::Axis);
    painter.setFont(font);
    double left = area.left();
    for (const KindSegment& segment : segments) {
        const double right = left + pixelsPerAnswer * static_cast<double>(segment.count);
        const QRectF bar(std::round(left), area.top(),
                         std::max(1.0, std::round(right) - std::round(left) - 1), area.height());
        const bool isEmpty = segment.kind == AnswerKind::Empty;
        const QColor fill = isEmpty ? theme.panel : kindColor(segment.kind, theme);
        painter.fillRect(bar, fill);
        if (isEmpty)
            outline(painter, bar, theme.ink3);
        const QString count = QString::number(segment.count);
        if (bar.height() >= 11 && widthOf(font, count) + 3 <= bar.width()) {
            painter.setPen(isEmpty ? theme.ink : theme.textOn(fill));
            painter.drawText(bar, Qt::AlignCenter | Qt::TextDontClip, count);
        }
        left = right;
    }
}

} // namespace kvscope
