#include "widgets/memory_plot_drawing.h"

#include "widgets/fonts.h"
#include "widgets/plot_ticker.h"

#include <QCoreApplication>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kBandHeight = 13.0;
constexpr int kBandMargin = 24;      ///< above the axes, with the band in it
constexpr double kHatchPeriod = 6.0; ///< px, as everywhere slack is drawn
constexpr double kHeadroom = 1.06;
constexpr double kSmallestAxis = 10.0; ///< MiB

QString phaseName(Phase phase)
{
    return phase == Phase::Prefill ? QCoreApplication::translate("kvscope::MemoryPlot", "prefill")
                                   : QCoreApplication::translate("kvscope::MemoryPlot", "decode");
}

/// Lines at 45 degrees through a shape: vectors, so that they stay crisp in print.
void hatch(QCPPainter& painter, const QPainterPath& shape, const QColor& color)
{
    const QRectF bounds = shape.boundingRect();
    painter.save();
    painter.setClipPath(shape, Qt::IntersectClip);
    painter.setPen(QPen(color, 1.6));
    // Anchored to the page and not to the shape: the hatch must not swim as the shape grows.
    const double phase = std::floor((bounds.left() + bounds.top()) / kHatchPeriod) * kHatchPeriod;
    for (double sum = phase; sum < bounds.right() + bounds.bottom(); sum += kHatchPeriod)
        painter.drawLine(QPointF(sum - bounds.bottom(), bounds.bottom()),
                         QPointF(sum - bounds.top(), bounds.top()));
    painter.restore();
}

} // namespace

std::vector<PhaseSpan> phaseSpans(const MemorySeries& series)
{
    std::vector<PhaseSpan> spans;
    for (std::size_t i = 0; i < series.size(); ++i) {
        const Phase phase = series.points[i].phase;
        if (phase != Phase::Prefill && phase != Phase::Decode)
            continue;
        const bool isBridged =
            i > 0 && (series.axis == MemoryAxis::Position || series.points[i - 1].phase == phase);
        const double lower = isBridged ? series.xs[i - 1] : series.xs[i];
        if (!spans.empty() && spans.back().phase == phase && spans.back().upper == lower)
            spans.back().upper = series.xs[i];
        else
            spans.push_back({phase, lower, series.xs[i]});
    }
    return spans;
}

MemoryPlotDrawing::MemoryPlotDrawing(PlotCanvas& canvas)
    : m_canvas(canvas)
    , m_live(canvas.addGraph())
    , m_weights(canvas.addGraph())
    , m_slackEdge(canvas.addGraph())
    , m_measured(canvas.addGraph())
{
    canvas.setTopMargin(kBandMargin);
    canvas.setYAxis(QCoreApplication::translate("kvscope::MemoryPlot", "Memory, MiB"),
                    QSharedPointer<AmountTicker>::create());
    for (QCPGraph* graph : {m_live, m_weights, m_slackEdge, m_measured})
        graph->setAdaptiveSampling(false); // already thinned, and by a rule that tests know
    using Place = PlotCanvas::Place;
    canvas.addDrawing(Place::UnderGraphs,
                      [this](QCPPainter& painter, const QRectF& area, const Theme& theme) {
                          drawSlack(painter, area, theme);
                      });
    canvas.addDrawing(Place::Above,
                      [this](QCPPainter& painter, const QRectF& area, const Theme& theme) {
                          drawSpikes(painter, area, theme);
                          drawPhases(painter, area, theme);
                      });
    canvas.setRestyle([this](const Theme& theme) { restyle(theme); });
}

void MemoryPlotDrawing::restyle(const Theme& theme)
{
    m_live->setPen(Qt::NoPen);
    m_live->setBrush(theme.global);
    m_weights->setPen(Qt::NoPen);
    m_weights->setBrush(theme.weights);
    m_slackEdge->setPen(QPen(theme.global, 1));
    m_measured->setPen(QPen(theme.ink, 1.4));
}

void MemoryPlotDrawing::prepare(const MemorySeries& series, const PlotResolution& resolution)
{
    const auto kept = thinToColumns(series.xs, {series.stacked, series.measured, series.growthCopy},
                                    resolution.columns);
    const auto count = static_cast<qsizetype>(kept.size());
    QVector<double> xs(count);
    QVector<double> weights(count);
    QVector<double> live(count);
    QVector<double> stacked(count);
    QVector<double> measured(count);
    m_spikes.clear();
    m_slack.clear();
    double needed = 0.0;
    for (qsizetype i = 0; i < count; ++i) {
        const std::size_t index = kept[static_cast<std::size_t>(i)];
        const MemoryFigures figures = memoryFigures(series.points[index].sample);
        xs[i] = series.xs[index];
        weights[i] = figures.weights;
        live[i] = figures.weights + figures.cacheLive;
        stacked[i] = figures.stacked;
        measured[i] = figures.measured;
        m_slack.append(QPointF(xs[i], stacked[i]));
        if (figures.growthCopy > 0.0)
            m_spikes.push_back({xs[i], stacked[i], stacked[i] + figures.growthCopy});
        needed = std::max(needed, figures.stacked + figures.growthCopy);
        needed = std::isnan(figures.measured) ? needed : std::max(needed, figures.measured);
    }
    for (qsizetype i = count; i-- > 0;)
        m_slack.append(QPointF(xs[i], live[i]));
    m_live->setData(xs, live, true);
    m_weights->setData(xs, weights, true);
    m_slackEdge->setData(xs, stacked, true);
    m_measured->setData(xs, measured, true);
    m_phases = phaseSpans(series);
    // From the data alone, so that zooming back finds the axis as it was.
    m_canvas.yAxis->setRange(0.0, steppedMaximum(kSmallestAxis, needed * kHeadroom));
}

void MemoryPlotDrawing::drawSlack(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    if (m_slack.isEmpty())
        return;
    QPolygonF pixels;
    pixels.reserve(m_slack.size());
    for (const QPointF& point : m_slack)
        pixels.append(QPointF(m_canvas.xPixel(point.x()), m_canvas.yPixel(point.y())));
    QPainterPath shape;
    shape.addPolygon(pixels);
    QPainterPath inside;
    inside.addRect(area);
    painter.save();
    painter.setClipRect(area);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.panel);
    painter.drawPath(shape);
    painter.restore();
    hatch(painter, shape.intersected(inside), theme.global);
}

void MemoryPlotDrawing::drawSpikes(QCPPainter& painter, const QRectF& area,
                                   const Theme& theme) const
{
    painter.save();
    painter.setClipRect(area);
    painter.setAntialiasing(false);
    for (const Spike& spike : m_spikes) {
        const double x = std::round(m_canvas.xPixel(spike.x));
        const double top = m_canvas.yPixel(spike.upper);
        // Two pixels at least: a copy that is small against the weights must still be seen.
        const double height = std::max(m_canvas.yPixel(spike.lower) - top, 2.0);
        painter.fillRect(QRectF(x - 1.5, top, 3.0, height), theme.growthCopy);
    }
    painter.restore();
}

void MemoryPlotDrawing::drawPhases(QCPPainter& painter, const QRectF& area,
                                   const Theme& theme) const
{
    painter.save();
    painter.setFont(uiFont(TextSize::Axis));
    const QFontMetricsF metrics(painter.font());
    const double top = area.top() - kBandHeight - 5.0;
    const double lowest = m_canvas.xAxis->range().lower;
    for (const PhaseSpan& span : m_phases) {
        const double left = std::max(m_canvas.xPixel(std::max(span.lower, lowest)), area.left());
        const double right = std::min(m_canvas.xPixel(std::max(span.upper, lowest)), area.right());
        if (right <= area.left() || left >= area.right())
            continue;
        const bool isDecode = span.phase == Phase::Decode;
        const QRectF box(std::round(left), top, std::max(std::round(right - left), 2.0),
                         kBandHeight);
        painter.setAntialiasing(false);
        painter.fillRect(box, isDecode ? theme.good : theme.dockTitle);
        painter.setPen(QPen(isDecode ? theme.good : theme.line, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(box.adjusted(0, 0, -1, -1));
        const QString name = phaseName(span.phase);
        const double width = metrics.horizontalAdvance(name);
        if (width + 6.0 > box.width()) {
            // The stretch that grows is named beside itself.
            if (&span == &m_phases.back() && box.right() + 4.0 + width < area.right()) {
                painter.setPen(isDecode ? theme.good : theme.ink2);
                painter.drawText(QRectF(box.right() + 4.0, top, width + 1.0, kBandHeight),
                                 Qt::AlignCenter, name);
            }
            continue;
        }
        painter.setAntialiasing(true);
        painter.setPen(isDecode ? theme.textOn(theme.good) : theme.ink2);
        painter.drawText(box, Qt::AlignCenter, name);
    }
    painter.restore();
}

} // namespace kvscope
