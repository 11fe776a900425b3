#include "widgets/loss_plot.h"

#include "widgets/number_format.h"
#include "widgets/plot_canvas.h"
#include "widgets/plot_export.h"
#include "widgets/plot_ticker.h"
#include "widgets/plot_view.h"
#include "widgets/token_history.h"
#include "widgets/token_selection.h"
#include "widgets/token_text.h"

#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvscope {
namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallestPositions = 256.0;
constexpr std::size_t kSmoothedTokens = 64;
constexpr double kSmallestAxis = 4.0; ///< nats
constexpr double kPickRadius = 5.0;   ///< px
constexpr int kLabelMargin = 18;      ///< above the axes, for the two labels

QString nats(double loss)
{
    return std::isnan(loss) ? missingText() : lossText(loss);
}

QString probability(double loss)
{
    if (std::isnan(loss))
        return missingText();
    const double p = std::exp(-loss);
    return p < 0.0005 ? QStringLiteral("<.001") : QString::number(p, 'f', 3);
}

} // namespace

LossPlot::LossPlot(QWidget* parent)
    : PlotPanel({QStringLiteral("loss"), tr("Loss"),
                 tr("how surprising each token was, given everything before it"), tr("measured")},
                parent)
    , m_view(new PlotView(kSmallestPositions, this))
    , m_smoothedGraph(canvas()->addGraph())
{
    m_smoothedGraph->setAdaptiveSampling(false); // thinned by our own rule
    canvas()->setTopMargin(kLabelMargin);
    canvas()->setYAxis(tr("Loss, nats"), QSharedPointer<AmountTicker>::create());
    using Place = PlotCanvas::Place;
    const auto add = [this](Place place, auto drawing) {
        canvas()->addDrawing(
            place, [this, drawing](QCPPainter& painter, const QRectF& area, const Theme& theme) {
                (this->*drawing)(painter, area, theme);
            });
    };
    add(Place::UnderGrid, &LossPlot::drawWindows);
    add(Place::UnderGraphs, &LossPlot::drawDots);
    add(Place::Above, &LossPlot::drawTrainedLength);
    add(Place::Overlay, &LossPlot::drawChosenDots);
    canvas()->setRestyle([this](const Theme& theme) { restyle(theme); });
    canvas()->setPrepare([this](const PlotResolution& resolution) { prepare(resolution); });
    connect(canvas(), &PlotCanvas::hovered, this, &LossPlot::showTooltip);
    setPositionView(m_view);
    updateReadout();
}

LossPlot::~LossPlot() = default;

void LossPlot::setTokens(TokenHistory* tokens)
{
    if (m_tokens != nullptr)
        disconnect(m_tokens, nullptr, this, nullptr);
    m_tokens = tokens;
    forgetFrom(0);
    if (m_tokens == nullptr)
        return;
    connect(m_tokens, &TokenHistory::tokensAppended, this, &LossPlot::forgetFrom);
    connect(m_tokens, &TokenHistory::truncated, this, &LossPlot::forgetFrom);
    connect(m_tokens, &TokenHistory::nllChanged, this, &LossPlot::forgetFrom);
}

void LossPlot::forgetFrom(std::int64_t position)
{
    const auto kept =
        std::min(m_losses.size(), static_cast<std::size_t>(std::max<std::int64_t>(position, 0)));
    m_xs.resize(kept);
    m_losses.resize(kept);
    m_isSmoothedCurrent = false;
    m_view->setHead(this, m_tokens != nullptr ? static_cast<double>(m_tokens->size()) : 0.0);
    canvas()->requestReplot();
    updateReadoutSoon();
}

void LossPlot::takeNewLosses() const
{
    if (m_tokens != nullptr)
        for (auto i = m_losses.size(); i < m_tokens->tokens().size(); ++i) {
            const double nll = m_tokens->tokens()[i].nll;
            m_xs.push_back(static_cast<double>(i));
            m_losses.push_back(nll >= 0.0 && std::isfinite(nll) ? nll : kGap);
            m_isSmoothedCurrent = false;
        }
    if (!m_isSmoothedCurrent)
        m_smoothed = runningMean(m_losses, kSmoothedTokens);
    m_isSmoothedCurrent = true;
}

void LossPlot::setCache(const CacheSnapshot& cache)
{
    m_firstInWindows.reset();
    for (const LayerCacheState& layer : cache.layers)
        if (layer.isWindowed && layer.retained > 0)
            m_firstInWindows =
                std::min(m_firstInWindows.value_or(layer.firstPosition), layer.firstPosition);
    m_cachedLength = cache.contextLength;
    canvas()->requestReplot();
}

void LossPlot::setPositionView(PlotView* view)
{
    if (m_view != view) {
        disconnect(m_view, nullptr, this, nullptr);
        if (m_view->parent() == this)
            m_view->deleteLater();
    }
    m_view = view;
    m_view->setHead(this, m_tokens != nullptr ? static_cast<double>(m_tokens->size()) : 0.0);
    // The scale is switched on another plot of the same view; only the ticks have to follow.
    connect(m_view, &PlotView::changed, this, &LossPlot::applyScale);
    canvas()->setView(m_view);
    applyScale();
    linkFollowing(m_view);
}

void LossPlot::setScale(AxisScale scale)
{
    m_view->setScale(scale);
}

void LossPlot::applyScale()
{
    canvas()->setXAxis(tr("Position"), QSharedPointer<PositionTicker>::create(m_view->scale()));
}

void LossPlot::restyle(const Theme& theme)
{
    m_smoothedGraph->setPen(QPen(theme.ink, 1.5));
}

void LossPlot::prepare(const PlotResolution& resolution)
{
    takeNewLosses();
    const auto kept = thinToColumns(m_xs, {m_smoothed}, resolution.columns);
    QVector<double> xs;
    QVector<double> ys;
    for (const std::size_t i : kept) {
        xs.append(m_xs[i]);
        ys.append(m_smoothed[i]);
    }
    m_smoothedGraph->setData(xs, ys, true);
    double largest = 0.0;
    const auto first = std::lower_bound(m_xs.begin(), m_xs.end(), resolution.columns.lower);
    for (auto i = static_cast<std::size_t>(first - m_xs.begin());
         i < m_xs.size() && m_xs[i] <= resolution.columns.upper; ++i)
        largest = std::isnan(m_losses[i]) ? largest : std::max(largest, m_losses[i]);
    RowRange rows = resolution.rows;
    rows.lower = 0.0;
    rows.upper = steppedMaximum(kSmallestAxis, largest);
    canvas()->yAxis->setRange(rows.lower, rows.upper);
    // In cells of a dot's size: a second dot in the same cell would hide behind the first.
    ColumnRange cells = resolution.columns;
    cells.columns = std::max(cells.columns / kDotSize, 1);
    rows.rows = std::max(rows.rows / kDotSize, 1);
    m_shownDots = thinToPixels(m_xs, m_losses, cells, rows);
}

double LossPlot::lossAt(std::int64_t position) const
{
    takeNewLosses();
    const auto index = static_cast<std::size_t>(position);
    return position >= 0 && index < m_losses.size() ? m_losses[index] : kGap;
}

double LossPlot::smoothedAt(std::int64_t position) const
{
    takeNewLosses();
    const auto index = static_cast<std::size_t>(position);
    return position >= 0 && index < m_smoothed.size() ? m_smoothed[index] : kGap;
}

double LossPlot::meanOf(std::int64_t first, std::int64_t last) const
{
    double sum = 0.0;
    std::int64_t count = 0;
    for (std::int64_t position = first; position <= last; ++position)
        if (const double loss = lossAt(position); !std::isnan(loss)) {
            sum += loss;
            ++count;
        }
    return count > 0 ? sum / static_cast<double>(count) : kGap;
}

std::optional<double> LossPlot::xOfToken(std::int64_t position) const
{
    if (m_tokens == nullptr || m_tokens->find(position) == nullptr)
        return std::nullopt;
    return static_cast<double>(position);
}

std::optional<std::int64_t> LossPlot::tokenAt(const QPointF& pixel) const
{
    if (m_tokens == nullptr || m_tokens->size() == 0)
        return std::nullopt;
    const std::int64_t last = m_tokens->size() - 1;
    const auto positionAt = [&](double x) {
        const double position = canvas()->valuesAt(QPointF(x, 0)).x();
        return static_cast<std::int64_t>(
            std::llround(std::clamp(position, -1.0, static_cast<double>(last) + 1.0)));
    };
    // The nearest dot under the pointer; away from the dots, the token of that column.
    std::optional<std::int64_t> nearest;
    double nearestDistance = kPickRadius;
    const std::int64_t upper = std::min(positionAt(pixel.x() + kPickRadius), last);
    for (auto p = std::max<std::int64_t>(positionAt(pixel.x() - kPickRadius), 0); p <= upper; ++p) {
        const double loss = lossAt(p);
        if (std::isnan(loss))
            continue;
        const QPointF away(canvas()->xPixel(static_cast<double>(p)) - pixel.x(),
                           canvas()->yPixel(loss) - pixel.y());
        const double distance = std::hypot(away.x(), away.y());
        if (distance < nearestDistance) {
            nearestDistance = distance;
            nearest = p;
        }
    }
    if (nearest)
        return nearest;
    const std::int64_t column = positionAt(pixel.x());
    return column >= 0 && column <= last ? std::optional(column) : std::nullopt;
}

void LossPlot::showTooltip(const QPointF& pixel)
{
    const auto position = tokenAt(pixel);
    const TokenRecord* token = position ? m_tokens->find(*position) : nullptr;
    if (token == nullptr) {
        QToolTip::hideText();
        return;
    }
    const QString where =
        tr("position %1, %2")
            .arg(countText(*position), token->isPrompt ? tr("prompt") : tr("generated"));
    QToolTip::showText(canvas()->mapToGlobal(pixel.toPoint()),
                       tokenTooltip(m_tokens, *position, {where}), canvas());
}

QString LossPlot::emptyText() const
{
    takeNewLosses();
    const bool hasAny = std::any_of(m_losses.begin(), m_losses.end(),
                                    [](double loss) { return !std::isnan(loss); });
    return hasAny ? QString()
                  : tr("Losses appear as tokens are generated; switch on “score the prompt” for "
                       "prefill.");
}

ReadoutTable LossPlot::readoutTable() const
{
    ReadoutTable table;
    table.title = tr("At token");
    table.headings[2] = tr("now");
    std::array<double, 3> losses{kGap, kGap, kGap};
    std::array<double, 3> smoothed{kGap, kGap, kGap};
    const auto read = [&](std::size_t column, std::int64_t position) {
        losses[column] = lossAt(position);
        smoothed[column] = smoothedAt(position);
    };
    if (m_tokens != nullptr)
        read(2, m_tokens->size() - 1);
    if (selection() != nullptr) {
        const TokenSelection& now = selection()->selection();
        if (const auto range = now.range()) {
            table.headings[0] = tr("mean");
            losses[0] = meanOf(range->first, range->last);
        } else if (now.pinned) {
            table.headings[0] = countText(*now.pinned);
            read(0, *now.pinned);
        }
        if (now.hovered) {
            table.headings[1] = countText(*now.hovered);
            read(1, *now.hovered);
        }
    }
    const auto row = [&](const QString& name, Swatch swatch, QColor Theme::*color,
                         const std::array<double, 3>& values, auto format, const QString& hint) {
        ReadoutRow made{name, swatch, color, {}, hint};
        for (std::size_t i = 0; i < values.size(); ++i)
            if (!table.headings[i].isEmpty())
                made.values[i] = format(values[i]);
        table.rows.push_back(made);
    };
    row(tr("Loss, nats"), Swatch::Dot, &Theme::global, losses, nats,
        tr("-ln p of the token, given everything before it; the mean where a range is marked."));
    row(tr("Mean of %1").arg(kSmoothedTokens), Swatch::Line, &Theme::ink, smoothed, nats,
        tr("Mean of the last %1 losses up to the token.").arg(kSmoothedTokens));
    row(tr("p"), Swatch::None, nullptr, losses, probability,
        tr("exp(-loss): how probable the model found the token."));
    return table;
}

SnapshotTable LossPlot::exportTable() const
{
    takeNewLosses();
    SnapshotTable table;
    table.columns = {QStringLiteral("position"), QStringLiteral("id"),
                     QStringLiteral("piece"),    QStringLiteral("source"),
                     QStringLiteral("nll_nats"), QStringLiteral("mean_64_nats")};
    for (std::size_t i = 0; i < m_losses.size(); ++i) {
        if (m_xs[i] < m_view->lower() || m_xs[i] > m_view->upper())
            continue;
        const TokenRecord& token = m_tokens->tokens()[i];
        table.rows.append({QString::number(token.position), QString::number(token.id),
                           QString::fromStdString(token.piece),
                           token.isPrompt ? QStringLiteral("prompt") : QStringLiteral("generated"),
                           csvNumber(m_losses[i]), csvNumber(m_smoothed[i])});
    }
    return table;
}

} // namespace kvscope
