#include "widgets/fonts.h"
#include "widgets/lab_latency_plots.h"
#include "widgets/number_format.h"
#include "widgets/plot_canvas.h"
#include "widgets/plot_export.h"
#include "widgets/plot_view.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kSmallestFit = 64.0;  ///< tokens
constexpr int kTopMargin = 36;         ///< px: the keys, then the label of the trained length
constexpr double kSmallestAxis = 1e-3; ///< seconds

QString percent(double share)
{
    return (share < 0 ? QStringLiteral("\u2212") : QStringLiteral("+")) +
           QString::number(100.0 * std::abs(share), 'f', 1) + QStringLiteral(" %");
}

} // namespace

FirstTokenPlot::FirstTokenPlot(QWidget* parent)
    : LabPlot({QStringLiteral("first-token"), tr("Time to first token"),
               tr("best of the undisturbed runs; lines are fits, hollow is held out"),
               tr("measured")},
              kSmallestFit, parent)
    , m_fits{canvas()->addGraph(), canvas()->addGraph()}
{
    canvas()->setTopMargin(kTopMargin);
    setAxes(tr("Length"), tr("Seconds"));
    canvas()->addDrawing(PlotCanvas::Place::Above,
                         [this](QCPPainter& painter, const QRectF& area, const Theme& theme) {
                             drawRows(painter, area, theme);
                             drawKeys(painter, area, theme);
                         });
    canvas()->setRestyle([this](const Theme& theme) { restyle(theme); });
    canvas()->setPrepare([this](const PlotResolution& resolution) { prepare(resolution); });
    updateReadout();
}

FirstTokenPlot::~FirstTokenPlot() = default;

void FirstTokenPlot::add(const FirstTokenRow& row)
{
    m_rows.push_back(row);
    double longest = 0.0;
    for (const FirstTokenRow& one : m_rows)
        if (!one.isSkipped())
            longest = std::max(longest, static_cast<double>(one.tokens));
    setEnd(longest);
    dataChanged();
}

void FirstTokenPlot::setReport(std::shared_ptr<const LatencyReport> report)
{
    m_report = std::move(report);
    dataChanged();
}

void FirstTokenPlot::clear()
{
    m_rows.clear();
    m_report.reset();
    setEnd(0.0);
    view()->fit();
    dataChanged();
}

const HeldOutFit* FirstTokenPlot::fitOf(std::int64_t chunkTokens) const
{
    if (m_report != nullptr)
        for (const HeldOutFit& fit : m_report->fits)
            if (fit.chunkTokens == chunkTokens)
                return &fit;
    return nullptr;
}

const FirstTokenRow* FirstTokenPlot::rowOf(std::int64_t tokens, bool isChunked) const
{
    for (const FirstTokenRow& row : m_rows)
        if (row.tokens == tokens && (row.chunkTokens > 0) == isChunked)
            return &row;
    return nullptr;
}

QPen FirstTokenPlot::penOf(bool isChunked, const Theme& theme) const
{
    return isChunked ? QPen(theme.ink2, 1.4, Qt::DashDotLine) : QPen(theme.global, 1.4);
}

void FirstTokenPlot::restyle(const Theme& theme)
{
    m_fits[0]->setPen(penOf(false, theme));
    m_fits[1]->setPen(penOf(true, theme));
}

void FirstTokenPlot::prepare(const PlotResolution&)
{
    double largest = 0.0;
    for (QCPGraph* graph : m_fits)
        graph->setData(QVector<double>(), QVector<double>());
    if (m_report != nullptr)
        for (const HeldOutFit& fit : m_report->fits) {
            QVector<double> xs;
            QVector<double> ys;
            for (const FittedTime& point : fit.curve) {
                xs.append(point.tokens);
                ys.append(point.seconds);
                largest = std::max(largest, point.seconds);
            }
            m_fits[fit.chunkTokens > 0 ? 1 : 0]->setData(xs, ys, true);
        }
    for (const FirstTokenRow& row : m_rows)
        largest = std::max(largest, row.bestSeconds);
    canvas()->yAxis->setRange(0.0, steppedMaximum(kSmallestAxis, 1.04 * largest));
}

void FirstTokenPlot::drawRows(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    for (const FirstTokenRow& row : m_rows) {
        if (row.isSkipped())
            continue;
        const bool isChunked = row.chunkTokens > 0;
        const HeldOutFit* fit = fitOf(row.chunkTokens);
        const bool isHeldOut = fit != nullptr && fit->heldOutTokens == row.tokens;
        const Mark mark = isChunked ? (isHeldOut ? Mark::HollowSquare : Mark::Square)
                                    : (isHeldOut ? Mark::HollowDot : Mark::Dot);
        const QPointF at = pixelOf(static_cast<double>(row.tokens), row.bestSeconds);
        if (!area.adjusted(-2, -2, 2, 2).contains(at))
            continue;
        drawMark(painter, at, mark,
                 row.isDisturbed ? theme.caution
                 : isChunked     ? theme.ink2
                                 : theme.global);
        if (row.isDisturbed) {
            painter.setFont(uiFont(TextSize::Secondary, QFont::Bold));
            painter.setPen(theme.caution);
            painter.drawText(at + QPointF(6, -4), QStringLiteral("!"));
        }
    }
}

void FirstTokenPlot::drawKeys(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    if (const std::int64_t trained = model().trainedPositions; trained > 0 && !m_rows.empty())
        drawLine(painter, area, static_cast<double>(trained),
                 tr("trained %1 \u25b8 beyond").arg(countText(trained)), theme.ink2, Qt::DashLine);
    double x = area.left();
    const double y = area.top() - kTopMargin + 10;
    const auto key = [&](std::int64_t chunkTokens) {
        x = drawKey(painter, x, y, penOf(chunkTokens > 0, theme), keyOf(chunkTokens), theme);
    };
    bool hasOneShot = false;
    std::int64_t chunkTokens = 0;
    for (const FirstTokenRow& row : m_rows) {
        hasOneShot = hasOneShot || row.chunkTokens == 0;
        chunkTokens = std::max(chunkTokens, row.chunkTokens);
    }
    if (hasOneShot)
        key(0);
    if (chunkTokens > 0)
        key(chunkTokens);
}

QString FirstTokenPlot::keyOf(std::int64_t chunkTokens) const
{
    QString text =
        chunkTokens == 0 ? tr("one shot") : tr("chunks of %1").arg(countText(chunkTokens));
    const HeldOutFit* fit = fitOf(chunkTokens);
    if (fit == nullptr)
        return text;
    text += tr(": %1 foretold %2 off at %3")
                .arg(secondsText(fit->predictedSeconds), percent(fit->error()),
                     countText(fit->heldOutTokens));
    return fit->isDisturbed ? QStringLiteral("! ") + text + tr(", disturbed") : text;
}

QString FirstTokenPlot::emptyText() const
{
    return m_rows.empty() ? tr("Start Latency to time prompts of several lengths.") : QString();
}

ReadoutTable FirstTokenPlot::readoutTable() const
{
    ReadoutTable table;
    table.title = tr("Seconds");
    table.headings = {QString(), tr("chunks"), tr("1 shot")};
    std::vector<std::int64_t> lengths;
    for (const FirstTokenRow& row : m_rows)
        lengths.push_back(row.tokens);
    std::sort(lengths.begin(), lengths.end());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    for (const std::int64_t tokens : lengths) {
        ReadoutRow made;
        made.name = countText(tokens);
        for (const bool isChunked : {true, false}) {
            const FirstTokenRow* row = rowOf(tokens, isChunked);
            QString& value = made.values[isChunked ? 1 : 2];
            value = row == nullptr     ? QString()
                    : row->isSkipped() ? missingText()
                                       : QString::number(row->bestSeconds, 'g', 3) +
                                             (row->isDisturbed ? QStringLiteral(" !") : QString());
            if (row != nullptr && row->isSkipped())
                made.hint = QString::fromStdString(row->skipReason);
            else if (row != nullptr)
                made.hint = tr("%1 runs; attention is %2 % of the FLOPs")
                                .arg(row->runs.size())
                                .arg(100.0 * row->attentionShare, 0, 'f', 1) +
                            (row->isDisturbed ? tr("; disturbed by other load") : QString()) +
                            (row->isBeyondTrained ? tr("; beyond the trained length") : QString());
        }
        table.rows.push_back(made);
    }
    return table;
}

SnapshotTable FirstTokenPlot::exportTable() const
{
    SnapshotTable table;
    table.columns = {QStringLiteral("tokens"),
                     QStringLiteral("chunk"),
                     QStringLiteral("run"),
                     QStringLiteral("seconds"),
                     QStringLiteral("wait_share"),
                     QStringLiteral("disturbed"),
                     QStringLiteral("attention_share"),
                     QStringLiteral("skipped"),
                     QStringLiteral("beyond_trained")};
    for (const FirstTokenRow& row : m_rows) {
        const QString tokens = QString::number(row.tokens);
        const QString chunk = QString::number(row.chunkTokens);
        const QString share = csvNumber(row.attentionShare);
        const QString beyond = row.isBeyondTrained ? QStringLiteral("1") : QStringLiteral("0");
        if (row.isSkipped())
            table.rows.append({tokens,
                               chunk,
                               {},
                               {},
                               {},
                               {},
                               share,
                               QString::fromStdString(row.skipReason),
                               beyond});
        for (std::size_t i = 0; i < row.runs.size(); ++i)
            table.rows.append(
                {tokens,
                 chunk,
                 QString::number(i + 1),
                 csvNumber(row.runs[i].seconds),
                 csvNumber(row.runs[i].waitShare),
                 row.runs[i].isDisturbed() ? QStringLiteral("1") : QStringLiteral("0"),
                 share,
                 {},
                 beyond});
    }
    return table;
}

} // namespace kvscope
