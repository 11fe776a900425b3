#include "widgets/trial_running_panel.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/plot_export.h"
#include "widgets/theme.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QRegularExpression>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr int kFigureMilliseconds = 250; ///< a figure must stand long enough to be read
constexpr double kMargin = 8.0;
constexpr double kNames = 46.0;
constexpr double kBar = 16.0;
constexpr std::size_t kMostPoints = 2048; ///< more are thinned to half
constexpr double kTick = 72.0;            ///< px between numbers of the axis, at least

/// "9,984" as a number; 0 where it is none.
std::int64_t countFrom(QString text)
{
    return text.remove(u',').toLongLong();
}

double roundUp(double value)
{
    const double power = std::pow(10.0, std::floor(std::log10(value)));
    for (const double step : {1.0, 2.0, 5.0})
        if (value <= step * power)
            return step * power;
    return 10.0 * power;
}

} // namespace

/// Where things stand, in the panel's pixels.
struct TrialRunningPanel::Lanes
{
    QRectF marks; ///< labels above the bar
    QRectF cache;
    QRectF rate;
    QRectF axis;
    double end = 1.0; ///< the position at the right edge

    double x(double position) const
    {
        return cache.left() + cache.width() * std::clamp(position / end, 0.0, 1.0);
    }
};

RunningPart runningPartFrom(const QString& what)
{
    static const QRegularExpression progress(
        QStringLiteral("^(.*): ([\\d,]{1,32}) of ([\\d,]{1,32}) tokens$"));
    static const QRegularExpression depth(QStringLiteral(" at (\\d{1,3}(?:\\.\\d{1,9})?) %"));
    RunningPart part{what, 0, 0, {}};
    if (const auto match = progress.match(what); match.hasMatch())
        part = {match.captured(1), countFrom(match.captured(2)), countFrom(match.captured(3)), {}};
    if (const auto match = depth.match(part.name); match.hasMatch())
        part.depth = std::min(100.0, match.captured(1).toDouble());
    return part;
}

QString runningTrialText(const SweepReport& report)
{
    const auto textOf = [](const SweepCell& cell) {
        return TrialRunningPanel::tr("trial %1 of %2")
            .arg(cell.trials.size() + 1) // not all that are done count for the score
            .arg(cell.plannedTrials);
    };
    const auto isRunning = [](const SweepCell& cell) {
        return cell.state == CellState::Running && std::ssize(cell.trials) < cell.plannedTrials;
    };
    for (const SweepColumn& column : report.columns) {
        for (const SweepCell& cell : column.cells)
            if (isRunning(cell))
                return textOf(cell);
        if (isRunning(column.control))
            return textOf(column.control);
    }
    return isRunning(report.oracle) ? textOf(report.oracle) : QString();
}

TrialRunningPanel::TrialRunningPanel(QWidget* parent)
    : PaintedPanel(QStringLiteral("trial-running"), tr("Trial running"), parent)
{
    clear();
}

void TrialRunningPanel::clear()
{
    m_experiment.clear();
    m_trial.clear();
    m_paused.clear();
    m_part = {};
    beginPart();
    describe();
    update();
}

void TrialRunningPanel::beginPart()
{
    m_held = 0;
    m_allocated = 0;
    m_seconds = -1.0;
    m_points.clear();
}

void TrialRunningPanel::setProgress(const QString& experiment, const QString& what)
{
    const bool isNew = m_experiment.isEmpty();
    m_experiment = experiment;
    const RunningPart part = runningPartFrom(what);
    if (part.name != m_part.name)
        beginPart();
    if (part.tokens > 0 || part.name != m_part.name) // its end is told by its name alone
        m_part = part;
    if (isNew || !m_described.isValid() || m_described.elapsed() >= kFigureMilliseconds)
        describe();
    update();
}

void TrialRunningPanel::setTrial(const QString& trial)
{
    m_trial = trial;
}

void TrialRunningPanel::setPaused(const QString& why)
{
    m_paused = why;
    m_seconds = -1.0; // the pause is no reading time
    describe();
}

void TrialRunningPanel::addSnapshot(const EngineSnapshot& snapshot)
{
    if (isEmpty())
        return;
    const std::int64_t held = snapshot.cache.contextLength;
    const double seconds = snapshot.memory.seconds;
    if (held < m_held)
        beginPart();
    if (m_seconds >= 0.0 && held > m_held && seconds > m_seconds)
        m_points.push_back({held, static_cast<double>(held - m_held) / (seconds - m_seconds)});
    if (m_points.size() > kMostPoints) // every other one
        for (std::size_t i = 0; i < m_points.size(); ++i)
            m_points.erase(m_points.begin() + static_cast<std::ptrdiff_t>(i));
    m_held = held;
    m_seconds = seconds;
    m_allocated = 0;
    for (const LayerCacheState& layer : snapshot.cache.layers)
        if (!layer.isWindowed)
            m_allocated = std::max(m_allocated, layer.capacity);
    if (!m_described.isValid() || m_described.elapsed() >= kFigureMilliseconds)
        describe();
    update();
}

QString TrialRunningPanel::descriptionNow() const
{
    if (isEmpty())
        return tr("nothing runs");
    QStringList parts{m_part.name.isEmpty() ? m_experiment : m_experiment + ' ' + m_part.name};
    if (!m_trial.isEmpty())
        parts.append(m_trial);
    if (m_part.tokens > 0)
        parts.append(
            tr("%1 of %2 read").arg(countText(m_part.doneTokens), countText(m_part.tokens)));
    if (!m_paused.isEmpty()) {
        parts.append(m_paused);
        return parts.join(QStringLiteral(", "));
    }
    const double rate = tokensPerSecond();
    if (rate > 0.0)
        parts.append(tr("%1 tok/s now").arg(countText(std::llround(rate))));
    if (rate > 0.0 && m_part.tokens > m_part.doneTokens)
        parts.append(
            tr("about %1 left of it")
                .arg(secondsText(static_cast<double>(m_part.tokens - m_part.doneTokens) / rate)));
    return parts.join(QStringLiteral(", "));
}

void TrialRunningPanel::describe()
{
    m_described.start();
    setDescription(descriptionNow());
}

double TrialRunningPanel::axisEnd() const
{
    return static_cast<double>(std::max({std::int64_t{1}, m_part.tokens, m_held}));
}

TrialRunningPanel::Lanes TrialRunningPanel::lanesIn(const QRectF& area) const
{
    const double line = std::ceil(QFontMetricsF(uiFont(TextSize::Axis)).height());
    Lanes lanes;
    lanes.end = axisEnd();
    const double left = area.left() + kMargin + kNames;
    const double width = std::max(1.0, area.right() - kMargin - left);
    lanes.marks = QRectF(left, area.top() + 2, width, line);
    lanes.cache = QRectF(left, lanes.marks.bottom(), width, kBar);
    lanes.axis = QRectF(left, area.bottom() - line - 2, width, line);
    const double top = lanes.cache.bottom() + 6;
    lanes.rate = QRectF(left, top, width, std::max(0.0, lanes.axis.top() - 3 - top));
    return lanes;
}

void TrialRunningPanel::paintCache(QPainter& painter, const Lanes& lanes, const Theme& theme) const
{
    const auto stretch = [&](double from, double to) {
        return QRectF(QPointF(lanes.x(from), lanes.cache.top()),
                      QPointF(lanes.x(to), lanes.cache.bottom()));
    };
    const auto held = static_cast<double>(m_held);
    paintSlack(painter, stretch(held, static_cast<double>(std::max(m_held, m_allocated))), theme);
    // In a model of windows alone all that is held are their rings.
    painter.fillRect(stretch(0, held), m_allocated > 0 ? theme.global : theme.windowed);
    painter.setPen(QPen(theme.line, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(lanes.cache);
}

void TrialRunningPanel::paintMarks(QPainter& painter, const Lanes& lanes, const Theme& theme) const
{
    painter.setFont(uiFont(TextSize::Axis));
    const QFontMetricsF metrics(painter.font());
    QRectF taken;
    const auto label = [&](double x, const QString& text, const QColor& color) {
        const double width = metrics.horizontalAdvance(text) + 2;
        const double left = std::clamp(x + 3, lanes.marks.left(),
                                       std::max(lanes.marks.left(), lanes.marks.right() - width));
        painter.setPen(color);
        const QRectF box(left, lanes.marks.top(), width, lanes.marks.height());
        if (box.intersects(taken))
            return;
        taken = box;
        painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, text);
    };
    const auto rule = [&](double x, const QPen& pen) {
        const double middle = std::floor(x) + 0.5; // of a pixel
        painter.setPen(pen);
        painter.drawLine(QPointF(middle, lanes.marks.top() + 2), QPointF(middle, lanes.axis.top()));
    };
    if (m_part.depth) {
        const double at = *m_part.depth / 100.0 * lanes.end;
        const bool isRead = static_cast<double>(m_held) >= at && m_held > 0;
        rule(lanes.x(at), QPen(theme.selection, 1));
        label(lanes.x(at), isRead ? tr("asked for about here, read") : tr("asked for about here"),
              theme.selection);
    }
    if (m_trained > 0 && static_cast<double>(m_trained) < lanes.end) {
        const double x = lanes.x(static_cast<double>(m_trained));
        rule(x, QPen(theme.ink2, 1, Qt::DashLine));
        label(x, tr("trained %1").arg(countText(m_trained)), theme.ink2);
    }
}

void TrialRunningPanel::paintRate(QPainter& painter, const Lanes& lanes, const Theme& theme) const
{
    if (lanes.rate.height() < 8)
        return;
    double most = 1.0;
    for (const Point& point : m_points)
        most = std::max(most, point.rate);
    most = roundUp(most);
    painter.setPen(QPen(theme.grid, 1));
    painter.drawLine(lanes.rate.topLeft(), lanes.rate.topRight());
    painter.drawLine(lanes.rate.bottomLeft(), lanes.rate.bottomRight());
    painter.setFont(digitFont(TextSize::Axis));
    painter.setPen(theme.ink2);
    painter.drawText(QRectF(lanes.rate.left() - kNames - 4, lanes.rate.top() - 6, kNames, 12),
                     Qt::AlignRight | Qt::AlignVCenter, countText(std::llround(most)));
    QPolygonF curve;
    for (const Point& point : m_points)
        curve.append(QPointF(lanes.x(static_cast<double>(point.position)),
                             lanes.rate.bottom() - lanes.rate.height() * point.rate / most));
    painter.setPen(QPen(theme.global, 1.4));
    if (curve.size() == 1)
        painter.drawPoint(curve.front());
    painter.drawPolyline(curve);
    const double step = roundUp(lanes.end * kTick / std::max(lanes.axis.width(), kTick));
    painter.setFont(digitFont(TextSize::Axis));
    painter.setPen(theme.ink2);
    for (double at = 0; at <= lanes.end; at += step)
        painter.drawText(QRectF(lanes.x(at) - 40, lanes.axis.top(), 80, lanes.axis.height()),
                         Qt::AlignCenter, countText(std::llround(at)));
}

void TrialRunningPanel::paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    painter.fillRect(area, theme.panel);
    if (isEmpty())
        return paintEmptyState(painter, area, theme, tr("Nothing runs"),
                               tr("What an experiment reads is shown here as it reads it."));
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const Lanes lanes = lanesIn(area);
    const auto name = [&](const QRectF& lane, const QString& text) {
        painter.setFont(uiFont(TextSize::Axis));
        painter.setPen(theme.ink2);
        painter.drawText(QRectF(area.left() + kMargin, lane.top(), kNames - 6, lane.height()),
                         Qt::AlignLeft | Qt::AlignVCenter, text);
    };
    name(lanes.cache, tr("Cache"));
    if (lanes.rate.height() > 30)
        name(lanes.rate.adjusted(0, 8, 0, 0), tr("tok/s"));
    paintCache(painter, lanes, theme);
    paintRate(painter, lanes, theme);
    paintMarks(painter, lanes, theme);
    painter.restore();
}

SnapshotTable TrialRunningPanel::exportTable() const
{
    SnapshotTable table;
    table.columns = {QStringLiteral("position"), QStringLiteral("tokens_per_second")};
    for (const Point& point : m_points)
        table.rows.append({QString::number(point.position), csvNumber(point.rate)});
    return table;
}

void TrialRunningPanel::extendExport(ExportSource& source) const
{
    if (!isEmpty())
        return;
    source.paint = {}; // nothing is nothing to keep
    source.csv = {};
}

void TrialRunningPanel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paintTo(painter, rect(), Theme::current());
    paintFocus(painter);
}

} // namespace kvscope
