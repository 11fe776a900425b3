// What LossPlot draws itself: QCustomPlot has no marks that can be thinned or tinted this way.
#include "widgets/fonts.h"
#include "widgets/loss_plot.h"
#include "widgets/number_format.h"
#include "widgets/plot_canvas.h"
#include "widgets/plot_view.h"
#include "widgets/token_selection.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr float kWindowFill = 0.09F;
constexpr double kLabelHeight = 10.0; ///< px, from the baseline up

QString windowLabel(std::int64_t first)
{
    return LossPlot::tr("in the windows from %1").arg(countText(first));
}

/// Where the label of the windows lies: beside their left edge, on the side that has room.
QRectF labelBox(double width, const QRectF& area, double edge)
{
    const double x = edge - width - 4 >= area.left() ? edge - width - 4
                                                     : std::min(edge + 4, area.right() - width);
    return {x, area.top() - kLabelHeight - 5, width, kLabelHeight};
}

} // namespace

void LossPlot::drawWindows(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    if (!m_firstInWindows)
        return;
    const auto first = static_cast<double>(*m_firstInWindows);
    const double lowest = canvas()->xAxis->range().lower;
    const double left = std::max(canvas()->xPixel(std::max(first, lowest)), area.left());
    const double right =
        std::min(canvas()->xPixel(std::max<double>(static_cast<double>(m_cachedLength), lowest)),
                 area.right());
    if (right <= left)
        return;
    QColor fill = theme.windowed;
    fill.setAlphaF(kWindowFill);
    painter.fillRect(QRectF(left, area.top(), right - left, area.height()), fill);
    painter.setPen(QPen(theme.windowed, 1, Qt::DotLine));
    painter.drawLine(QPointF(left, area.top()), QPointF(left, area.bottom()));
    painter.setFont(uiFont(TextSize::Axis));
    painter.setPen(theme.windowed);
    const QString label = windowLabel(*m_firstInWindows);
    painter.drawText(
        labelBox(painter.fontMetrics().horizontalAdvance(label), area, left).bottomLeft(), label);
}

void LossPlot::drawDots(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    painter.save();
    painter.setClipRect(area.adjusted(-2, -2, 2, 2));
    painter.setAntialiasing(false);
    QColor color = theme.global;
    color.setAlphaF(0.75F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    QVector<QRectF> dots;
    dots.reserve(static_cast<qsizetype>(m_shownDots.size()));
    for (const std::size_t i : m_shownDots)
        dots.append(QRectF(canvas()->xPixel(m_xs[i]) - kDotSize / 2.0,
                           canvas()->yPixel(m_losses[i]) - kDotSize / 2.0, kDotSize, kDotSize));
    painter.drawRects(dots);
    painter.restore();
}

void LossPlot::drawTrainedLength(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    const std::int64_t trained = model().trainedPositions;
    const auto at = static_cast<double>(trained);
    if (trained <= 0 || at < m_view->lower() || at > m_view->upper())
        return;
    const double x = canvas()->xPixel(at);
    painter.setPen(QPen(theme.ink3, 1, Qt::DashLine));
    painter.drawLine(QPointF(x, area.top() - 12), QPointF(x, area.bottom()));
    painter.setFont(uiFont(TextSize::Axis));
    painter.setPen(theme.ink2);
    const QString label = tr("trained %1").arg(countText(trained));
    const double width = painter.fontMetrics().horizontalAdvance(label);
    QRectF box(x + 4, area.top() - kLabelHeight - 5, width, kLabelHeight);
    QRectF taken;
    if (m_firstInWindows) {
        const double lowest = canvas()->xAxis->range().lower;
        const double left =
            canvas()->xPixel(std::max(static_cast<double>(*m_firstInWindows), lowest));
        taken = labelBox(painter.fontMetrics().horizontalAdvance(windowLabel(*m_firstInWindows)),
                         area, std::max(left, area.left()))
                    .adjusted(-6, 0, 6, 0);
    }
    if (box.right() > area.right() || box.intersects(taken))
        box.moveRight(x - 4);
    if (box.left() < area.left() || box.intersects(taken)) {
        // No room beside the other label: under it, on ground that keeps the dots out.
        box.moveTop(area.top() + 2);
        box.moveLeft(std::min(x + 4, area.right() - width));
        painter.fillRect(box, theme.panel);
    }
    painter.drawText(box.bottomLeft(), label);
}

void LossPlot::drawChosenDots(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    if (selection() == nullptr)
        return;
    const auto pixelOf = [&](std::int64_t position) -> std::optional<QPointF> {
        const double loss = lossAt(position);
        const QPointF pixel(canvas()->xPixel(static_cast<double>(position)),
                            canvas()->yPixel(loss));
        if (std::isnan(loss) || !area.adjusted(-1, -1, 1, 1).contains(pixel))
            return std::nullopt;
        return pixel;
    };
    const TokenSelection& now = selection()->selection();
    const bool isExport = painter.modes().testFlag(QCPPainter::pmNoCaching);
    if (now.hovered && !isExport) {
        if (const auto pixel = pixelOf(*now.hovered)) {
            painter.setPen(QPen(theme.ink, 1.4));
            painter.setBrush(theme.panel);
            painter.drawEllipse(*pixel, 3.5, 3.5);
        }
    }
    if (now.pinned) {
        if (const auto pixel = pixelOf(*now.pinned)) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(theme.selection);
            painter.drawEllipse(*pixel, 3.5, 3.5);
        }
    }
}

} // namespace kvscope
