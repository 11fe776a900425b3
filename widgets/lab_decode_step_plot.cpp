#include "widgets/fonts.h"
#include "widgets/lab_latency_plots.h"
#include "widgets/number_format.h"
#include "widgets/plot_canvas.h"
#include "widgets/plot_export.h"
#include "widgets/plot_view.h"

#include <algorithm>

namespace kvscope {
namespace {

constexpr double kSmallestFit = 64.0; ///< tokens
constexpr int kTopMargin = 24;        ///< px, for the keys
constexpr double kSmallestAxis = 0.1; ///< ms

QString milliseconds(double seconds)
{
    return seconds > 0.0 ? QString::number(1e3 * seconds, 'f', 1) : missingText();
}

} // namespace

DecodeStepPlot::DecodeStepPlot(QWidget* parent)
    : LabPlot({QStringLiteral("decode-step"), tr("Decode step"),
               tr("median of the undisturbed steps beside what its bytes need"), tr("measured")},
              kSmallestFit, parent)
    , m_floor(canvas()->addGraph())
{
    canvas()->setTopMargin(kTopMargin);
    setAxes(tr("Cached"), tr("Milliseconds"));
    canvas()->addDrawing(PlotCanvas::Place::Above,
                         [this](QCPPainter& painter, const QRectF& area, const Theme& theme) {
                             drawRows(painter, area, theme);
                         });
    canvas()->setRestyle([this](const Theme& theme) { restyle(theme); });
    canvas()->setPrepare([this](const PlotResolution& resolution) { prepare(resolution); });
    updateReadout();
}

DecodeStepPlot::~DecodeStepPlot() = default;

void DecodeStepPlot::add(const DecodeStepRow& row)
{
    m_rows.push_back(row);
    setEnd(static_cast<double>(row.cachedTokens));
    dataChanged();
}

void DecodeStepPlot::setReport(std::shared_ptr<const LatencyReport> report)
{
    m_report = std::move(report);
    restyle(Theme::current()); // its bandwidth decides how the floor is drawn
    dataChanged();
}

void DecodeStepPlot::clear()
{
    m_rows.clear();
    m_report.reset();
    setEnd(0.0);
    view()->fit();
    dataChanged();
}

bool DecodeStepPlot::isFloorUncertain() const
{
    return m_report != nullptr && m_report->isBandwidthDisturbed;
}

QPen DecodeStepPlot::floorPen(const Theme& theme) const
{
    return isFloorUncertain() ? QPen(theme.caution, 2.0, Qt::DotLine)
                              : QPen(theme.ink3, 1.4, Qt::DashLine); // arithmetic is dashed
}

void DecodeStepPlot::restyle(const Theme& theme)
{
    m_floor->setPen(floorPen(theme));
}

void DecodeStepPlot::prepare(const PlotResolution&)
{
    QVector<double> xs;
    QVector<double> ys;
    double largest = 0.0;
    for (const DecodeStepRow& row : m_rows) {
        largest = std::max(largest, 1e3 * row.medianSeconds);
        if (row.floorSeconds <= 0.0)
            continue;
        xs.append(static_cast<double>(row.cachedTokens));
        ys.append(1e3 * row.floorSeconds);
    }
    m_floor->setData(xs, ys);
    canvas()->yAxis->setRange(0.0, steppedMaximum(kSmallestAxis, 1.04 * largest));
}

void DecodeStepPlot::drawRows(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    for (const DecodeStepRow& row : m_rows) {
        const QPointF at = pixelOf(static_cast<double>(row.cachedTokens), 1e3 * row.medianSeconds);
        if (!area.adjusted(-2, -2, 2, 2).contains(at))
            continue;
        drawMark(painter, at, Mark::Dot, row.isDisturbed() ? theme.caution : theme.global);
        if (row.isDisturbed()) {
            painter.setFont(uiFont(TextSize::Secondary, QFont::Bold));
            painter.setPen(theme.caution);
            painter.drawText(at + QPointF(6, -4), QStringLiteral("!"));
        }
    }
    if (m_rows.empty())
        return;
    const double y = area.top() - kTopMargin + 11;
    const QString step = stepKey();
    painter.setFont(uiFont(TextSize::Secondary));
    painter.setPen(theme.global);
    painter.drawText(QPointF(area.left(), y + 4), step);
    drawKey(painter, area.left() + painter.fontMetrics().horizontalAdvance(step) + spacing::kBlock,
            y, floorPen(theme), floorKey(), theme);
}

QString DecodeStepPlot::stepKey() const
{
    QString text = tr("\u25cf step");
    if (m_report != nullptr && m_report->stepSecondsPer1000)
        text += tr(", %1 ms per 1,000 cached").arg(1e3 * *m_report->stepSecondsPer1000, 0, 'f', 3);
    return text;
}

QString DecodeStepPlot::floorKey() const
{
    QString text = tr("its bytes");
    if (m_report == nullptr || m_report->bandwidthBytesPerSecond <= 0.0)
        return text;
    text += tr(" at %1 GB/s").arg(m_report->bandwidthBytesPerSecond / 1e9, 0, 'f', 1);
    return isFloorUncertain() ? QStringLiteral("! ") + text + tr(", measured under other load")
                              : text;
}

QString DecodeStepPlot::emptyText() const
{
    return m_rows.empty() ? tr("Steps are timed behind the longest prompt of each length.")
                          : QString();
}

ReadoutTable DecodeStepPlot::readoutTable() const
{
    ReadoutTable table;
    table.title = tr("Milliseconds");
    table.headings = {QString(), tr("bytes"), tr("step")};
    for (const DecodeStepRow& row : m_rows) {
        ReadoutRow made;
        made.name = countText(row.cachedTokens);
        const bool isUncertain = isFloorUncertain() && row.floorSeconds > 0.0;
        made.values = {QString(),
                       milliseconds(row.floorSeconds) +
                           (isUncertain ? QStringLiteral(" !") : QString()),
                       milliseconds(row.medianSeconds) +
                           (row.isDisturbed() ? QStringLiteral(" !") : QString())};
        made.hint =
            tr("%1 of %2 steps disturbed by other load; reads %3 of weights and %4 of cache")
                .arg(row.numDisturbed)
                .arg(row.numSteps)
                .arg(bytesText(row.weightBytes), bytesText(row.cacheBytes));
        if (row.isDisturbed())
            made.hint += tr("; none was left undisturbed");
        if (isUncertain)
            made.hint += tr("; the bandwidth was measured under other load, so the bytes may need "
                            "less than this");
        table.rows.push_back(made);
    }
    return table;
}

SnapshotTable DecodeStepPlot::exportTable() const
{
    SnapshotTable table;
    table.columns = {QStringLiteral("cached"),          QStringLiteral("steps"),
                     QStringLiteral("disturbed_steps"), QStringLiteral("median_s"),
                     QStringLiteral("best_s"),          QStringLiteral("floor_s"),
                     QStringLiteral("weight_bytes"),    QStringLiteral("cache_bytes"),
                     QStringLiteral("floor_uncertain")};
    for (const DecodeStepRow& row : m_rows)
        table.rows.append({QString::number(row.cachedTokens), QString::number(row.numSteps),
                           QString::number(row.numDisturbed), csvNumber(row.medianSeconds),
                           csvNumber(row.bestSeconds),
                           row.floorSeconds > 0.0 ? csvNumber(row.floorSeconds) : QString(),
                           QString::number(row.weightBytes), QString::number(row.cacheBytes),
                           isFloorUncertain() ? QStringLiteral("1") : QStringLiteral("0")});
    return table;
}

} // namespace kvscope
