#include "widgets/lab_use_plot.h"

#include "widgets/fonts.h"
#include "widgets/lab_verdicts.h"
#include "widgets/number_format.h"
#include "widgets/plot_canvas.h"
#include "widgets/plot_export.h"
#include "widgets/plot_view.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kSmallestFit = 64.0; ///< positions
constexpr int kTopMargin = 24;        ///< px, for the pooled figure
constexpr float kIntervalFill = 0.16F;

} // namespace

UsePlot::UsePlot(QWidget* parent)
    : LabPlot({QStringLiteral("use"), tr("Use"),
               tr("how much the whole text lowers the loss, against its segment alone, 95 %"),
               tr("measured")},
              kSmallestFit, parent)
{
    canvas()->setTopMargin(kTopMargin);
    setAxes(tr("Position"), tr("Alone less whole, nats"));
    using Place = PlotCanvas::Place;
    canvas()->addDrawing(Place::UnderGraphs,
                         [this](QCPPainter& painter, const QRectF& area, const Theme& theme) {
                             drawPooled(painter, area, theme);
                         });
    canvas()->addDrawing(Place::Above,
                         [this](QCPPainter& painter, const QRectF& area, const Theme& theme) {
                             drawSegments(painter, area, theme);
                         });
    canvas()->setPrepare([this](const PlotResolution& resolution) { prepare(resolution); });
    updateReadout();
}

UsePlot::~UsePlot() = default;

double UsePlot::middleOf(const UseSegment& segment)
{
    return static_cast<double>(segment.firstTarget) + 0.5 * static_cast<double>(segment.numTargets);
}

void UsePlot::add(const UseSegment& segment)
{
    if (segment.segment == 0)
        clear();
    m_segments.push_back(segment);
    setEnd(static_cast<double>(segment.firstTarget + segment.numTargets));
    dataChanged();
}

void UsePlot::setReport(std::shared_ptr<const UseReport> report)
{
    m_report = std::move(report);
    dataChanged();
}

void UsePlot::clear()
{
    m_segments.clear();
    m_report.reset();
    setEnd(0.0);
    view()->fit();
    dataChanged();
}

void UsePlot::prepare(const PlotResolution&)
{
    double low = 0.0;
    double high = 0.0;
    for (const UseSegment& segment : m_segments) {
        low = std::min(low, segment.gain.low);
        high = std::max(high, segment.gain.high);
    }
    if (low == high)
        high = 1.0;
    const double margin = 0.08 * (high - low);
    canvas()->yAxis->setRange(low - margin, high + margin);
}

void UsePlot::drawPooled(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    painter.setPen(QPen(theme.ink3, 1));
    const double zero = canvas()->yPixel(0.0);
    painter.drawLine(QPointF(area.left(), zero), QPointF(area.right(), zero));
    if (m_report == nullptr)
        return;
    const double top = canvas()->yPixel(m_report->gain.high);
    const double bottom = canvas()->yPixel(m_report->gain.low);
    QColor fill = theme.global;
    fill.setAlphaF(kIntervalFill);
    painter.fillRect(QRectF(area.left(), top, area.width(), bottom - top).intersected(area), fill);
}

void UsePlot::drawSegments(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    for (const UseSegment& segment : m_segments) {
        const double x = middleOf(segment);
        if (!canvas()->xAxis->range().contains(x))
            continue;
        const bool isCheck = segment.segment == 0;
        drawInterval(painter, x, segment.gain.low, segment.gain.high, theme.global);
        drawMark(painter, pixelOf(x, segment.gain.mean), isCheck ? Mark::HollowDot : Mark::Dot,
                 theme.global);
        if (!isCheck)
            continue;
        const bool agrees = segment.largestDifference == 0.0;
        painter.setFont(uiFont(TextSize::Axis));
        painter.setPen(agrees ? theme.good : theme.bad);
        painter.drawText(pixelOf(x, 0.0) + QPointF(7, -5),
                         agrees ? tr("\u2713 exactly 0") : tr("\u2715 should be 0"));
    }
    if (m_report == nullptr)
        return;
    const bool isOpen = usesVerdict(*m_report).kind == LabVerdict::Kind::Undecided;
    painter.setFont(uiFont(TextSize::Secondary));
    painter.setPen(isOpen ? theme.caution : theme.ink2);
    painter.drawText(QPointF(area.left(), area.top() - kTopMargin + 15), finding());
}

QString UsePlot::finding() const
{
    if (m_report == nullptr)
        return {};
    const SampleMean& gain = m_report->gain;
    const QString interval =
        gain.hasInterval() ? tr("95 % %1 to %2").arg(signedText(gain.low), signedText(gain.high))
                           : tr("no interval");
    return tr("%1 nats, %2, over segments 1 to %3: %4")
        .arg(signedText(gain.mean), interval)
        .arg(static_cast<qint64>(m_report->segments.size()) - 1)
        .arg(usesVerdict(*m_report).text());
}

QString UsePlot::emptyText() const
{
    return m_segments.empty()
               ? tr("Start Use to compare a text's segments with and without what came before.")
               : QString();
}

ReadoutTable UsePlot::readoutTable() const
{
    ReadoutTable table;
    table.title = tr("Loss, nats");
    table.headings = {QString(), tr("whole"), tr("gain")};
    for (const UseSegment& segment : m_segments)
        table.rows.push_back({tr("Segment %1").arg(segment.segment),
                              Swatch::None,
                              nullptr,
                              {QString(), QString::number(segment.whole.mean, 'f', 3),
                               segment.largestDifference == 0.0 ? QStringLiteral("0")
                                                                : signedText(segment.gain.mean)},
                              tr("Targets from %1; alone %2; gain %3")
                                  .arg(countText(segment.firstTarget))
                                  .arg(segment.alone.mean, 0, 'f', 3)
                                  .arg(intervalHint(segment.gain, true))});
    return table;
}

SnapshotTable UsePlot::exportTable() const
{
    SnapshotTable table;
    table.columns = {QStringLiteral("segment"),           QStringLiteral("first_target"),
                     QStringLiteral("targets"),           QStringLiteral("whole_nll_nats"),
                     QStringLiteral("alone_nll_nats"),    QStringLiteral("gain_nats"),
                     QStringLiteral("gain_low_95"),       QStringLiteral("gain_high_95"),
                     QStringLiteral("largest_difference")};
    for (const UseSegment& segment : m_segments)
        table.rows.append({QString::number(segment.segment), QString::number(segment.firstTarget),
                           QString::number(segment.numTargets), csvNumber(segment.whole.mean),
                           csvNumber(segment.alone.mean), csvNumber(segment.gain.mean),
                           csvNumber(segment.gain.low), csvNumber(segment.gain.high),
                           csvNumber(segment.largestDifference)});
    return table;
}

} // namespace kvscope
