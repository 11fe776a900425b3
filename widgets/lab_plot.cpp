#include "widgets/lab_plot.h"

#include "widgets/fonts.h"
#include "widgets/plot_canvas.h"
#include "widgets/plot_ticker.h"
#include "widgets/plot_view.h"

#include <algorithm>
#include <array>

namespace kvscope {
namespace {

constexpr double kMarkRadius = 3.5;   ///< px
constexpr double kIntervalCap = 3.0;  ///< px, half the short ends
constexpr double kLabelHeight = 12.0; ///< px
constexpr double kKeyLine = 18.0;     ///< px, of a key's swatch

} // namespace

LabPlot::LabPlot(const PlotTexts& texts, double smallestFit, QWidget* parent)
    : PlotPanel(texts, parent)
    , m_view(new PlotView(smallestFit, this))
{
    canvas()->setView(m_view);
}

LabPlot::~LabPlot() = default;

void LabPlot::setEnd(double x)
{
    m_view->setHead(this, x);
}

void LabPlot::setAxes(const QString& xName, const QString& yName)
{
    canvas()->setXAxis(xName, QSharedPointer<PositionTicker>::create(m_view->scale()));
    canvas()->setYAxis(yName, QSharedPointer<AmountTicker>::create());
}

void LabPlot::dataChanged()
{
    canvas()->requestReplot();
    updateReadoutSoon();
}

QPointF LabPlot::pixelOf(double x, double y) const
{
    return {canvas()->xPixel(x), canvas()->yPixel(y)};
}

void LabPlot::drawMark(QCPPainter& painter, const QPointF& at, Mark mark, const QColor& color) const
{
    const bool isHollow = mark == Mark::HollowDot || mark == Mark::HollowSquare;
    painter.setPen(QPen(color, 1.5));
    painter.setBrush(isHollow ? canvas()->background() : QBrush(color));
    const QRectF box(at.x() - kMarkRadius, at.y() - kMarkRadius, 2 * kMarkRadius, 2 * kMarkRadius);
    if (mark == Mark::Dot || mark == Mark::HollowDot)
        painter.drawEllipse(box);
    else
        painter.drawRect(box);
}

void LabPlot::drawInterval(QCPPainter& painter, double x, double low, double high,
                           const QColor& color) const
{
    const QPointF bottom = pixelOf(x, low);
    const QPointF top = pixelOf(x, high);
    const std::array<QLineF, 3> lines{
        QLineF(bottom, top),
        QLineF(bottom - QPointF(kIntervalCap, 0), bottom + QPointF(kIntervalCap, 0)),
        QLineF(top - QPointF(kIntervalCap, 0), top + QPointF(kIntervalCap, 0))};
    painter.setPen(QPen(color, 1.5));
    painter.drawLines(lines.data(), static_cast<int>(lines.size()));
}

void LabPlot::drawLine(QCPPainter& painter, const QRectF& area, double x, const QString& label,
                       const QColor& color, Qt::PenStyle style) const
{
    if (!canvas()->xAxis->range().contains(x))
        return;
    const double pixel = canvas()->xPixel(x);
    painter.setPen(QPen(color, 1, style));
    painter.drawLine(QPointF(pixel, area.top() - kLabelHeight), QPointF(pixel, area.bottom()));
    painter.setFont(uiFont(TextSize::Axis));
    painter.setPen(color);
    const double width = painter.fontMetrics().horizontalAdvance(label);
    const double left = pixel + 4 + width <= area.right() ? pixel + 4 : pixel - 4 - width;
    painter.drawText(QPointF(left, area.top() - 3), label);
}

double LabPlot::drawKey(QCPPainter& painter, double x, double y, const QPen& pen,
                        const QString& text, const Theme& theme) const
{
    painter.setPen(pen);
    painter.drawLine(QPointF(x, y), QPointF(x + kKeyLine, y));
    painter.setFont(uiFont(TextSize::Secondary));
    painter.setPen(theme.ink2);
    const double left = x + kKeyLine + spacing::kTight;
    painter.drawText(QPointF(left, y + 4), text);
    return left + painter.fontMetrics().horizontalAdvance(text) + spacing::kWide;
}

} // namespace kvscope
