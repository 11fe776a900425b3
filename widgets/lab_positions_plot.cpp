#include "widgets/lab_positions_plot.h"

#include "widgets/fonts.h"
#include "widgets/lab_verdicts.h"
#include "widgets/number_format.h"
#include "widgets/plot_canvas.h"
#include "widgets/plot_export.h"
#include "widgets/plot_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvscope {
namespace {

constexpr double kSmallestFit = 64.0; ///< positions
constexpr int kTopMargin = 36;        ///< px: the keys, then the labels of the lines
constexpr double kKeyRoom = 48.0;     ///< px beside the text of a key: its line and the gaps
constexpr float kIntervalFill = 0.22F;
constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

PlotTexts textsOf(PositionsPlot::Shows shows)
{
    if (shows == PositionsPlot::Shows::Loss)
        return {QStringLiteral("positions"), PositionsPlot::tr("Positions"),
                PositionsPlot::tr("loss by position against a growing cache, 95 % of each bin"),
                PositionsPlot::tr("measured")};
    return {QStringLiteral("positions-difference"), PositionsPlot::tr("Difference"),
            PositionsPlot::tr("the second scheme less the first, paired by position"),
            PositionsPlot::tr("measured")};
}

QString nats(double value)
{
    return QString::number(value, 'f', 3);
}

/// Short enough for a column of figures.
QString behavesText(const PositionsSeries& series)
{
    switch (behavesVerdict(series).kind) {
    case LabVerdict::Kind::Holds:
        return PositionsPlot::tr("\u2713 yes");
    case LabVerdict::Kind::Undecided:
        return PositionsPlot::tr("? open");
    case LabVerdict::Kind::Fails:
        break;
    }
    return PositionsPlot::tr("\u2715 no");
}

} // namespace

PositionsPlot::PositionsPlot(Shows shows, QWidget* parent)
    : LabPlot(textsOf(shows), kSmallestFit, parent)
    , m_shows(shows)
{
    for (int i = 0; i < (isDifference() ? 1 : 2); ++i) {
        m_graphs.push_back(canvas()->addGraph());
        m_graphs.back()->setAdaptiveSampling(false); // thinned by our own rule
    }
    canvas()->setTopMargin(kTopMargin);
    setAxes(tr("Position"), isDifference() ? tr("Difference, nats") : tr("Loss, nats"));
    using Place = PlotCanvas::Place;
    canvas()->addDrawing(Place::Above,
                         [this](QCPPainter& painter, const QRectF& area, const Theme& theme) {
                             drawBins(painter, area, theme);
                             drawMarks(painter, area, theme);
                         });
    canvas()->setRestyle([this](const Theme& theme) { restyle(theme); });
    canvas()->setPrepare([this](const PlotResolution& resolution) { prepare(resolution); });
    updateReadout();
}

PositionsPlot::~PositionsPlot() = default;

void PositionsPlot::begin(const PositionsBegun& begun)
{
    if (begun.series == 0)
        clear();
    if (begun.series != m_series.size() || m_series.size() == 2)
        return; // parts of a run that is not shown from its start
    m_series.push_back({begun, {}});
    setEnd(static_cast<double>(begun.tokens));
    dataChanged();
}

void PositionsPlot::add(const PositionsScored& part)
{
    const std::int64_t first = part.scored.firstPosition;
    if (part.series >= m_series.size() || first < 0 || first > m_series[part.series].begun.tokens)
        return;
    std::vector<double>& nll = m_series[part.series].nll;
    nll.resize(static_cast<std::size_t>(first), kGap);
    nll.insert(nll.end(), part.scored.nll.begin(), part.scored.nll.end());
    dataChanged();
}

void PositionsPlot::setReport(std::shared_ptr<const PositionsReport> report)
{
    m_report = std::move(report);
    dataChanged();
}

void PositionsPlot::clear()
{
    m_series.clear();
    m_report.reset();
    setEnd(0.0);
    view()->fit();
    dataChanged();
}

std::vector<double> PositionsPlot::valuesOf(std::size_t series) const
{
    if (!isDifference())
        return series < m_series.size() ? m_series[series].nll : std::vector<double>();
    if (m_series.size() < 2)
        return {};
    std::vector<double> difference;
    const std::size_t count = std::min(m_series[0].nll.size(), m_series[1].nll.size());
    for (std::size_t i = 0; i < count; ++i)
        difference.push_back(m_series[1].nll[i] - m_series[0].nll[i]);
    return difference;
}

std::vector<PositionsPlot::Bin> PositionsPlot::binsOf(std::size_t series) const
{
    std::vector<Bin> bins;
    if (m_report == nullptr)
        return bins;
    const auto add = [&](std::int64_t first, std::int64_t end, const SampleMean& mean,
                         bool isBeyond) {
        bins.push_back({static_cast<double>(first), static_cast<double>(end), mean, isBeyond});
    };
    const std::int64_t trained =
        m_report->series.empty() ? 0 : m_report->series.front().trainedPositions;
    if (isDifference())
        for (const PositionsDifference& bin : m_report->differences)
            add(bin.first, bin.end, bin.nll, trained > 0 && bin.first >= trained);
    else if (series < m_report->series.size())
        for (const PositionBin& bin : m_report->series[series].bins)
            add(bin.first, bin.end, bin.nll, bin.isBeyondTrained);
    return bins;
}

void PositionsPlot::fill(QCPGraph* graph, const std::vector<double>& values,
                         const PlotResolution& resolution)
{
    const std::vector<double> smoothed = runningMean(values, kSmoothedTokens);
    while (m_xs.size() < smoothed.size())
        m_xs.push_back(static_cast<double>(m_xs.size()));
    const std::span<const double> xs(m_xs.data(), smoothed.size());
    QVector<double> shownXs;
    QVector<double> shownYs;
    for (const std::size_t i : thinToColumns(xs, {smoothed}, resolution.columns)) {
        shownXs.append(xs[i]);
        shownYs.append(smoothed[i]);
        // The first few means are of few tokens, and would stretch the axis.
        if (std::isfinite(smoothed[i]) && i + 1 >= std::min(kSmoothedTokens, smoothed.size())) {
            m_low = std::min(m_low, smoothed[i]);
            m_high = std::max(m_high, smoothed[i]);
        }
    }
    graph->setData(shownXs, shownYs, true);
}

void PositionsPlot::prepare(const PlotResolution& resolution)
{
    m_low = std::numeric_limits<double>::max();
    m_high = std::numeric_limits<double>::lowest();
    for (std::size_t i = 0; i < m_graphs.size(); ++i) {
        fill(m_graphs[i], valuesOf(i), resolution);
        for (const Bin& bin : binsOf(i)) {
            m_low = std::min(m_low, bin.mean.low);
            m_high = std::max(m_high, bin.mean.high);
        }
    }
    setRange();
}

void PositionsPlot::setRange()
{
    if (m_low > m_high) { // nothing yet: an empty plot keeps its axes
        canvas()->yAxis->setRange(isDifference() ? -1.0 : 0.0, isDifference() ? 1.0 : 4.0);
        return;
    }
    if (isDifference()) { // zero is what it is about
        m_low = std::min(m_low, 0.0);
        m_high = std::max(m_high, 0.0);
    }
    const double margin = std::max(0.06 * (m_high - m_low), 0.01);
    canvas()->yAxis->setRange(m_low - margin, m_high + margin);
}

QPen PositionsPlot::penOf(std::size_t series, const Theme& theme, double width) const
{
    if (isDifference())
        return {theme.ink, width};
    return series == 0 ? QPen(theme.global, width) : QPen(theme.ink, width, Qt::DashLine);
}

void PositionsPlot::restyle(const Theme& theme)
{
    for (std::size_t i = 0; i < m_graphs.size(); ++i) {
        QPen pen = penOf(i, theme, 1.2);
        QColor color = pen.color();
        color.setAlphaF(0.8F);
        pen.setColor(color);
        m_graphs[i]->setPen(pen);
    }
}

void PositionsPlot::drawBins(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    painter.save();
    painter.setClipRect(area);
    for (std::size_t i = 0; i < m_graphs.size(); ++i) {
        const QPen pen = penOf(i, theme, 2.4);
        QColor fill = pen.color();
        fill.setAlphaF(kIntervalFill);
        for (const Bin& bin : binsOf(i)) {
            painter.fillRect(
                QRectF(pixelOf(bin.first, bin.mean.high), pixelOf(bin.end, bin.mean.low)), fill);
            QPen line = pen;
            if (!bin.mean.hasInterval()) // one position says nothing of the others
                line.setStyle(Qt::DotLine);
            painter.setPen(line);
            painter.drawLine(pixelOf(bin.first, bin.mean.mean), pixelOf(bin.end, bin.mean.mean));
        }
    }
    if (isDifference()) {
        painter.setPen(QPen(theme.ink3, 1));
        painter.drawLine(QPointF(area.left(), canvas()->yPixel(0)),
                         QPointF(area.right(), canvas()->yPixel(0)));
    }
    painter.restore();
}

void PositionsPlot::drawMarks(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    if (m_series.empty())
        return;
    const PositionsBegun& first = m_series.front().begun;
    if (first.window > 0)
        drawLine(painter, area, static_cast<double>(first.window),
                 tr("window %1").arg(countText(first.window)), theme.windowed, Qt::DotLine);
    if (first.trainedPositions > 0)
        drawLine(painter, area, static_cast<double>(first.trainedPositions),
                 tr("trained %1 \u25b8 beyond").arg(countText(first.trainedPositions)), theme.ink2,
                 Qt::DashLine);
    if (isDifference())
        return;
    // Each has its share of the width. What does not fit goes without its verdict, which the table
    // has too, and keeps the end that tells the two apart.
    const double room = area.width() / static_cast<double>(m_series.size()) - kKeyRoom;
    const auto nameOf = [&](std::size_t i) {
        return QString::fromStdString(m_series[i].begun.name);
    };
    const bool endsDiffer = m_series.size() == 2 && nameOf(0).left(8) == nameOf(1).left(8);
    painter.setFont(uiFont(TextSize::Secondary));
    double x = area.left();
    for (std::size_t i = 0; i < m_series.size(); ++i) {
        QString text = keyOf(i);
        if (painter.fontMetrics().horizontalAdvance(text) > room)
            text = painter.fontMetrics().elidedText(
                nameOf(i), endsDiffer ? Qt::ElideLeft : Qt::ElideRight, static_cast<int>(room));
        x = drawKey(painter, x, area.top() - kTopMargin + 10, penOf(i, theme, 2.0), text, theme);
    }
}

QString PositionsPlot::keyOf(std::size_t series) const
{
    if (series >= m_series.size())
        return {};
    const QString name = QString::fromStdString(m_series[series].begun.name);
    if (m_report == nullptr || series >= m_report->series.size())
        return name;
    return name + QStringLiteral(": ") + behavesVerdict(m_report->series[series]).text();
}

QString PositionsPlot::emptyText() const
{
    if (isDifference())
        return m_series.size() < 2 ? tr("Two rotary schemes, or two caches, have a difference.")
                                   : QString();
    return m_series.empty() ? tr("Start Positions to see the loss of every position of a text.")
                            : QString();
}

ReadoutTable PositionsPlot::readoutTable() const
{
    ReadoutTable table;
    table.title = isDifference() ? tr("Nats") : tr("Loss, nats");
    const std::size_t count = m_report == nullptr || isDifference()
                                  ? 1
                                  : std::max<std::size_t>(1, m_report->series.size());
    const auto column = [count](std::size_t series) { return 3 - count + series; };
    table.headings[2] = isDifference() ? tr("2nd\u22121st")
                        : count == 2   ? tr("second")
                                       : tr("mean");
    if (count == 2)
        table.headings[1] = tr("first");
    const auto bins = binsOf(0);
    for (std::size_t row = 0; row < bins.size(); ++row) {
        ReadoutRow made;
        made.name = kvscope::rangeText(static_cast<std::int64_t>(bins[row].first),
                                       static_cast<std::int64_t>(bins[row].end) - 1);
        for (std::size_t i = 0; i < count; ++i) {
            const auto values = binsOf(i);
            const SampleMean& mean = values[row].mean;
            made.values[column(i)] = isDifference() ? signedText(mean.mean) : nats(mean.mean);
            made.hint = intervalHint(mean, isDifference());
            if (values[row].isBeyondTrained)
                made.hint += tr("; beyond the trained length");
        }
        table.rows.push_back(made);
    }
    if (m_report == nullptr || isDifference())
        return table;
    const auto sum = [&](const QString& name, auto value, const QString& hint) {
        ReadoutRow row{name, Swatch::None, nullptr, {}, hint};
        for (std::size_t i = 0; i < m_report->series.size(); ++i)
            row.values[column(i)] = value(m_report->series[i]);
        table.rows.push_back(row);
    };
    sum(
        tr("First half"), [](const PositionsSeries& one) { return nats(one.firstHalf.mean); },
        tr("Mean over the positions of the first half."));
    sum(tr("Last bin"), [](const PositionsSeries& one) { return nats(one.lastBin.mean); }, {});
    sum(
        tr("Rise"), [](const PositionsSeries& one) { return signedText(one.rise()); },
        tr("Last bin less first half; a model behaves up to %1 nats.").arg(kBehavesNats));
    sum(tr("Behaves"), &behavesText,
        tr("Claim two of the report card; ? is undecided: too few positions, or an interval across "
           "the line."));
    return table;
}

SnapshotTable PositionsPlot::exportTable() const
{
    SnapshotTable table;
    table.columns = {QStringLiteral("scheme"),        QStringLiteral("kind"),
                     QStringLiteral("first"),         QStringLiteral("end"),
                     QStringLiteral("mean_nll_nats"), QStringLiteral("low_95"),
                     QStringLiteral("high_95"),       QStringLiteral("beyond_trained")};
    for (std::size_t i = 0; i < m_graphs.size(); ++i) {
        const QString scheme = isDifference() ? QStringLiteral("second less first")
                               : i < m_series.size()
                                   ? QString::fromStdString(m_series[i].begun.name)
                                   : QString();
        for (const Bin& bin : binsOf(i))
            table.rows.append({scheme, QStringLiteral("bin"), QString::number(bin.first, 'f', 0),
                               QString::number(bin.end, 'f', 0), csvNumber(bin.mean.mean),
                               bin.mean.hasInterval() ? csvNumber(bin.mean.low) : QString(),
                               bin.mean.hasInterval() ? csvNumber(bin.mean.high) : QString(),
                               bin.isBeyondTrained ? QStringLiteral("1") : QStringLiteral("0")});
        const std::vector<double> values = valuesOf(i);
        for (std::size_t x = 0; x < values.size(); ++x)
            table.rows.append({scheme,
                               QStringLiteral("position"),
                               QString::number(x),
                               QString::number(x + 1),
                               csvNumber(values[x]),
                               {},
                               {},
                               {}});
    }
    return table;
}

} // namespace kvscope
