#include "widgets/memory_plot.h"

#include "widgets/memory_plot_drawing.h"
#include "widgets/number_format.h"
#include "widgets/plot_canvas.h"
#include "widgets/plot_export.h"
#include "widgets/plot_header.h"
#include "widgets/plot_ticker.h"
#include "widgets/plot_view.h"
#include "widgets/token_selection.h"

#include <QAbstractButton>
#include <QAction>
#include <QButtonGroup>
#include <QMenu>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kSmallestPositions = 256.0;
constexpr double kSmallestSeconds = 4.0;
constexpr int kScaleChoiceWidth = 520; ///< narrower, the tag is worth more than the switch

/// Three significant digits, grouped; the unit stands in the heading.
QString mibText(double mib)
{
    if (std::isnan(mib))
        return missingText();
    const double size = std::abs(mib);
    if (size < 0.005)
        return QStringLiteral("0");
    const QString sign = mib < 0.0 ? QStringLiteral("\u2212") : QString();
    if (size >= 999.5)
        return sign + countText(std::llround(size));
    return sign + QString::number(size, 'f', size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

QString phaseText(Phase phase)
{
    switch (phase) {
    case Phase::NoModel:
        return QStringLiteral("no model");
    case Phase::Opening:
        return QStringLiteral("opening");
    case Phase::Idle:
        return QStringLiteral("idle");
    case Phase::Prefill:
        return QStringLiteral("prefill");
    case Phase::Decode:
        return QStringLiteral("decode");
    case Phase::Lab:
        break;
    }
    return QStringLiteral("experiment");
}

} // namespace

MemoryPlot::MemoryPlot(QWidget* parent)
    : PlotPanel({QStringLiteral("memory"), tr("Memory"),
                 tr("what holds how much, and what is left over"),
                 tr("areas arithmetic, line measured")},
                parent)
    , m_drawing(std::make_unique<MemoryPlotDrawing>(*canvas()))
    , m_positionView(new PlotView(kSmallestPositions, this))
    , m_timeView(new PlotView(kSmallestSeconds, this))
    , m_scaleChoice(
          header()->addChoice({tr("Linear"), tr("Log")}, tr("Scale of the position axis")))
    , m_axisChoice(header()->addChoice({tr("Position"), tr("Time")}, tr("Axis")))
{
    connect(m_scaleChoice, &QButtonGroup::idClicked, this,
            [this](int id) { setScale(id == 1 ? AxisScale::Log : AxisScale::Linear); });
    connect(m_axisChoice, &QButtonGroup::idClicked, this,
            [this](int id) { setAxis(id == 1 ? Axis::Time : Axis::Position); });
    header()->hideBelow(m_scaleChoice, kScaleChoiceWidth);
    canvas()->setPrepare(
        [this](const PlotResolution& resolution) { m_drawing->prepare(series(), resolution); });
    setPositionView(m_positionView);
    updateReadout();
}

MemoryPlot::~MemoryPlot() = default;

const MemorySeries& MemoryPlot::series() const
{
    return m_axis == Axis::Time ? m_history.byTime() : m_history.byPosition();
}

void MemoryPlot::addSample(const MemorySample& sample, Phase phase)
{
    m_history.add({sample, phase});
    m_positionView->setHead(this, static_cast<double>(sample.contextLength));
    m_timeView->setHead(this, sample.seconds);
    canvas()->requestReplot();
    updateReadoutSoon();
}

void MemoryPlot::addSnapshot(const EngineSnapshot& snapshot)
{
    addSample(snapshot.memory, snapshot.phase);
}

void MemoryPlot::clear()
{
    m_history.clear();
    m_positionView->setHead(this, 0.0);
    m_timeView->setHead(this, 0.0);
    canvas()->requestReplot();
    updateReadout();
}

void MemoryPlot::setPositionView(PlotView* view)
{
    if (m_positionView != view) {
        disconnect(m_positionView, nullptr, this, nullptr);
        if (m_positionView->parent() == this)
            m_positionView->deleteLater();
    }
    m_positionView = view;
    const MemorySeries& cached = m_history.byPosition();
    m_positionView->setHead(this, cached.size() > 0 ? cached.xs.back() : 0.0);
    // Another plot of the same view may have switched the scale.
    connect(m_positionView, &PlotView::changed, this, &MemoryPlot::updateTicks);
    applyAxis();
}

void MemoryPlot::setAxis(Axis axis)
{
    if (axis == m_axis)
        return;
    m_axis = axis;
    applyAxis();
    updateReadout();
    Q_EMIT axisChanged(axis);
}

void MemoryPlot::setScale(AxisScale scale)
{
    m_positionView->setScale(scale);
}

void MemoryPlot::applyAxis()
{
    canvas()->setView(m_axis == Axis::Time ? m_timeView : m_positionView);
    linkFollowing(m_timeView);
    linkFollowing(m_positionView);
    updateTicks();
}

void MemoryPlot::updateTicks()
{
    const bool isTime = m_axis == Axis::Time;
    const AxisScale scale = m_positionView->scale();
    m_axisChoice->button(isTime ? 1 : 0)->setChecked(true);
    m_scaleChoice->button(scale == AxisScale::Log ? 1 : 0)->setChecked(true);
    for (QAbstractButton* button : m_scaleChoice->buttons())
        button->setEnabled(!isTime);
    if (isTime)
        canvas()->setXAxis(tr("Time, s"), QSharedPointer<SecondsTicker>::create());
    else
        canvas()->setXAxis(tr("Position"), QSharedPointer<PositionTicker>::create(scale));
}

std::optional<double> MemoryPlot::xOfToken(std::int64_t position) const
{
    if (m_axis == Axis::Position)
        return static_cast<double>(position);
    const MemoryPoint* point = m_history.whenCached(position);
    return point != nullptr ? std::optional(point->sample.seconds) : std::nullopt;
}

std::optional<std::int64_t> MemoryPlot::tokenAt(const QPointF& pixel) const
{
    const double x = canvas()->valuesAt(pixel).x();
    const MemorySeries& shown = series();
    if (shown.size() == 0)
        return std::nullopt;
    if (m_axis == Axis::Position) {
        const auto position = std::llround(std::max(x, 0.0));
        return position < shown.points.back().sample.contextLength ? std::optional(position)
                                                                   : std::nullopt;
    }
    const auto index = shown.at(x);
    if (!index || shown.points[*index].sample.contextLength == 0)
        return std::nullopt;
    return shown.points[*index].sample.contextLength - 1;
}

QString MemoryPlot::emptyText() const
{
    return m_history.byTime().size() > 0
               ? QString()
               : tr("Memory appears once a model is open. Press Ctrl+O, or drop a file here.");
}

void MemoryPlot::extendContextMenu(QMenu& menu)
{
    QAction* time = menu.addAction(tr("Time instead of position"));
    time->setCheckable(true);
    time->setChecked(m_axis == Axis::Time);
    connect(time, &QAction::toggled, this,
            [this](bool isOn) { setAxis(isOn ? Axis::Time : Axis::Position); });
    QAction* log = menu.addAction(tr("Logarithmic positions"));
    log->setCheckable(true);
    log->setChecked(m_positionView->scale() == AxisScale::Log);
    log->setEnabled(m_axis == Axis::Position);
    connect(log, &QAction::toggled, this,
            [this](bool isOn) { setScale(isOn ? AxisScale::Log : AxisScale::Linear); });
}

ReadoutTable MemoryPlot::readoutTable() const
{
    ReadoutTable table;
    table.title = tr("MiB at token");
    const MemoryPoint* newest =
        m_history.byTime().size() > 0 ? &m_history.byTime().points.back() : nullptr;
    std::array<const MemoryPoint*, 3> points{nullptr, nullptr, newest};
    table.headings[2] = tr("now");
    if (selection() != nullptr) {
        const TokenSelection& now = selection()->selection();
        if (now.pinned) {
            table.headings[0] = countText(*now.pinned);
            points[0] = m_history.whenCached(*now.pinned);
        }
        if (now.hovered) {
            table.headings[1] = countText(*now.hovered);
            points[1] = m_history.whenCached(*now.hovered);
        }
    }
    const auto add = [&](const QString& name, Swatch swatch, QColor Theme::*color,
                         double MemoryFigures::*figure, const QString& hint) {
        ReadoutRow row{name, swatch, color, {}, hint};
        for (std::size_t i = 0; i < points.size(); ++i)
            if (points[i] != nullptr)
                row.values[i] = mibText(memoryFigures(points[i]->sample).*figure);
            else if (!table.headings[i].isEmpty())
                row.values[i] = missingText();
        table.rows.push_back(row);
    };
    add(tr("Measured"), Swatch::Line, &Theme::ink, &MemoryFigures::measured,
        tr("Resident memory of the whole process, above what it was just before the model was "
           "opened. Measured."));
    add(tr("Unaccounted"), Swatch::None, nullptr, &MemoryFigures::unaccounted,
        tr("Measured less weights, live cache and slack: buffers, logits, the program itself. "
           "Negative while weights are mapped but not yet read, or slack not yet touched."));
    add(tr("Growth copy"), Swatch::Fill, &Theme::growthCopy, &MemoryFigures::growthCopy,
        tr("Held twice while an array grew in this step; over when the resident memory is read."));
    add(tr("Slack"), Swatch::Hatch, &Theme::global, &MemoryFigures::cacheSlack,
        tr("Allocated by the cache and not used yet."));
    add(tr("Cache, live"), Swatch::Fill, &Theme::global, &MemoryFigures::cacheLive,
        tr("Keys and values that attention can read."));
    add(tr("Weights"), Swatch::Fill, &Theme::weights, &MemoryFigures::weights,
        tr("As held in memory, not as stored in the file."));
    return table;
}

SnapshotTable MemoryPlot::exportTable() const
{
    SnapshotTable table;
    table.columns = {QStringLiteral("seconds"),
                     QStringLiteral("position"),
                     QStringLiteral("phase"),
                     QStringLiteral("weights_bytes"),
                     QStringLiteral("cache_live_bytes"),
                     QStringLiteral("cache_slack_bytes"),
                     QStringLiteral("growth_copy_bytes"),
                     QStringLiteral("measured_bytes"),
                     QStringLiteral("unaccounted_bytes")};
    const MemorySeries& shown = series();
    const PlotView* view = canvas()->view();
    for (std::size_t i = 0; i < shown.size(); ++i) {
        if (shown.xs[i] > view->upper() || (view->lower() > 1.0 && shown.xs[i] < view->lower()))
            continue;
        const MemorySample& sample = shown.points[i].sample;
        const auto held =
            static_cast<qint64>(sample.weights + sample.cacheLive + sample.cacheSlack);
        const auto measured = static_cast<qint64>(sample.processResident) -
                              static_cast<qint64>(sample.processBaseline);
        const bool isMeasured = sample.processResident > 0;
        table.rows.append({csvNumber(sample.seconds), QString::number(sample.contextLength),
                           phaseText(shown.points[i].phase), QString::number(sample.weights),
                           QString::number(sample.cacheLive), QString::number(sample.cacheSlack),
                           QString::number(sample.growthCopy),
                           isMeasured ? QString::number(measured) : QString(),
                           isMeasured ? QString::number(measured - held) : QString()});
    }
    return table;
}

} // namespace kvscope
