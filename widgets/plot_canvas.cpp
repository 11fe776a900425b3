#include "widgets/plot_canvas.h"

#include "widgets/fonts.h"
#include "widgets/plot_view.h"

#include <QEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kvscope {
namespace {

// Fixed margins, so that plots above one another share their columns.
constexpr int kLeftMargin = 58;
constexpr int kRightMargin = 14;
constexpr int kBottomMargin = 20;
constexpr int kTopMargin = 8;
constexpr double kPixelsPerXTick = 76.0;
constexpr double kPixelsPerYTick = 34.0;
constexpr double kDragDistance = 4.0;
constexpr double kQuickReplot = 8.0;   ///< ms
constexpr double kRestPerReplot = 4.0; ///< so that drawing takes a fifth of the time at most
constexpr int kLongestRest = 250;      ///< ms

/// A drawing of ours on one of the plot's layers.
class DrawingLayerable : public QCPLayerable
{
public:
    DrawingLayerable(PlotCanvas* canvas, const QString& layer, PlotCanvas::Drawing drawing,
                     const Theme* const* theme)
        : QCPLayerable(canvas, layer)
        , m_drawing(std::move(drawing))
        , m_theme(theme)
    {
    }

protected:
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override
    {
        painter->setAntialiasing(true);
    }
    void draw(QCPPainter* painter) override
    {
        m_drawing(*painter, static_cast<PlotCanvas*>(parentPlot())->plotArea(), **m_theme);
    }

private:
    PlotCanvas::Drawing m_drawing;
    const Theme* const* m_theme;
};

QString layerOf(PlotCanvas::Place place)
{
    switch (place) {
    case PlotCanvas::Place::UnderGrid:
        return QStringLiteral("background");
    case PlotCanvas::Place::UnderGraphs:
        return QStringLiteral("grid");
    case PlotCanvas::Place::Above:
        return QStringLiteral("legend");
    case PlotCanvas::Place::Overlay:
        break;
    }
    return QStringLiteral("overlay");
}

} // namespace

PlotCanvas::PlotCanvas(QWidget* parent)
    : QCustomPlot(parent)
    , m_theme(&Theme::current())
{
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_NoMousePropagation, false); // the panel around it has the context menu
    axisRect()->setAutoMargins(QCP::msNone);
    axisRect()->setMinimumMargins(QMargins());
    plotLayout()->setMargins(QMargins());
    setTopMargin(kTopMargin);
    for (QCPAxis* axis : {xAxis, yAxis}) {
        axis->setSubTicks(false);
        axis->setTickLengthIn(0);
        axis->setTickLengthOut(axis == xAxis ? 3 : 0);
        axis->setTickLabelPadding(axis == xAxis ? 2 : 6);
        axis->grid()->setSubGridVisible(false);
    }
    xAxis->grid()->setVisible(false);
    yAxis->setLabelPadding(2);
    m_replotTimer.setSingleShot(true);
    connect(&m_replotTimer, &QTimer::timeout, this,
            [this] { replot(QCustomPlot::rpQueuedReplot); });
    connect(this, &QCustomPlot::beforeReplot, this, [this] { prepareGraphs(); });
    connect(this, &QCustomPlot::afterReplot, this, [this] { m_isDrawn = true; });
    addDrawing(Place::Above, [this](QCPPainter& painter, const QRectF& area, const Theme& theme) {
        drawXName(painter, area, theme);
    });
    addDrawing(Place::Overlay, [this](QCPPainter& painter, const QRectF&, const Theme& theme) {
        drawFocus(painter, theme);
    });
    restyle(*m_theme);
}

void PlotCanvas::setView(PlotView* view)
{
    if (m_view != nullptr)
        disconnect(m_view, nullptr, this, nullptr);
    m_view = view;
    if (m_view != nullptr)
        connect(m_view, &PlotView::changed, this, [this] { applyView(); });
    applyView();
}

void PlotCanvas::applyView()
{
    if (m_view == nullptr)
        return;
    xAxis->setScaleType(m_view->scale() == AxisScale::Log ? QCPAxis::stLogarithmic
                                                          : QCPAxis::stLinear);
    xAxis->setRange(m_view->lower(), m_view->upper());
    requestReplot();
}

void PlotCanvas::setXAxis(const QString& name, const QSharedPointer<QCPAxisTicker>& ticker)
{
    m_xName = name;
    xAxis->setTicker(ticker);
    requestReplot();
}

void PlotCanvas::setYAxis(const QString& name, const QSharedPointer<QCPAxisTicker>& ticker)
{
    yAxis->setLabel(name);
    yAxis->setTicker(ticker);
    requestReplot();
}

void PlotCanvas::setRestyle(Restyle restyleGraphs)
{
    m_restyle = std::move(restyleGraphs);
    restyle(*m_theme);
}

void PlotCanvas::addDrawing(Place place, Drawing drawing)
{
    new DrawingLayerable(this, layerOf(place), std::move(drawing), &m_theme); // owned by its layer
}

void PlotCanvas::setTopMargin(int pixels)
{
    axisRect()->setMargins(QMargins(kLeftMargin, pixels, kRightMargin, kBottomMargin));
}

void PlotCanvas::requestReplot()
{
    // A drawing that takes long (a hundred thousand dots) leaves the GUI thread free most of the
    // time; a quick one follows every change.
    const double took = replotTime();
    if (took < kQuickReplot)
        replot(QCustomPlot::rpQueuedReplot);
    else if (!m_replotTimer.isActive())
        m_replotTimer.start(std::min(static_cast<int>(took * kRestPerReplot), kLongestRest));
}

void PlotCanvas::updateOverlay()
{
    // Before the first whole drawing there is no layer to draw on.
    if (m_isDrawn)
        layer(QStringLiteral("overlay"))->replot();
}

QPointF PlotCanvas::valuesAt(const QPointF& pixel) const
{
    return {xAxis->pixelToCoord(pixel.x()), yAxis->pixelToCoord(pixel.y())};
}

QRectF PlotCanvas::plotArea() const
{
    return axisRect()->rect();
}

void PlotCanvas::prepareGraphs()
{
    const QRectF area = plotArea();
    xAxis->ticker()->setTickCount(std::max(2, static_cast<int>(area.width() / kPixelsPerXTick)));
    yAxis->ticker()->setTickCount(std::max(2, static_cast<int>(area.height() / kPixelsPerYTick)));
    if (!m_prepare)
        return;
    PlotResolution resolution;
    resolution.columns.lower = xAxis->range().lower;
    resolution.columns.upper = xAxis->range().upper;
    resolution.columns.columns = std::max(1, static_cast<int>(std::ceil(area.width())));
    if (m_view != nullptr)
        resolution.columns.scale = m_view->scale();
    resolution.rows.lower = yAxis->range().lower;
    resolution.rows.upper = yAxis->range().upper;
    resolution.rows.rows = std::max(1, static_cast<int>(std::ceil(area.height())));
    m_prepare(resolution);
}

void PlotCanvas::restyle(const Theme& theme)
{
    m_theme = &theme;
    setBackground(QBrush(theme.panel));
    for (QCPAxis* axis : {xAxis, yAxis}) {
        axis->setBasePen(axis == xAxis ? QPen(theme.line, 0) : QPen(Qt::NoPen));
        axis->setTickPen(QPen(theme.line, 0));
        axis->setTickLabelFont(digitFont(TextSize::Axis));
        axis->setTickLabelColor(theme.ink2);
        axis->setLabelFont(uiFont(TextSize::Axis));
        axis->setLabelColor(theme.ink2);
        axis->grid()->setPen(QPen(theme.grid, 0));
        axis->grid()->setZeroLinePen(QPen(theme.grid, 0));
    }
    if (m_restyle)
        m_restyle(theme);
}

void PlotCanvas::drawXName(QCPPainter& painter, const QRectF& area, const Theme& theme)
{
    // In the corner that the axes leave free: the name costs no height there.
    painter.setFont(uiFont(TextSize::Axis));
    painter.setPen(theme.ink3);
    painter.drawText(QRectF(0, area.bottom() + 3, area.left() - 18, kBottomMargin - 4),
                     Qt::AlignRight | Qt::AlignVCenter, m_xName);
}

void PlotCanvas::drawFocus(QCPPainter& painter, const Theme& theme)
{
    if (!hasFocus() || painter.modes().testFlag(QCPPainter::pmNoCaching)) // not in an export
        return;
    painter.setPen(QPen(theme.highlight, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(rect()).adjusted(1, 1, -1, -1));
}

void PlotCanvas::paintTo(QPainter& painter, const QSize& size, const Theme& theme)
{
    const QRect before = viewport();
    restyle(theme);
    setViewport(QRect(QPoint(), size));
    plotLayout()->update(QCPLayoutElement::upMargins);
    plotLayout()->update(QCPLayoutElement::upLayout);
    prepareGraphs();
    // QCustomPlot wants its own painter type; a picture carries the strokes over unchanged.
    QPicture picture;
    QCPPainter strokes(&picture);
    strokes.setMode(QCPPainter::pmVectorized);
    toPainter(&strokes, size.width(), size.height());
    strokes.end();
    // drawPicture() enlarges by the devices' dots per inch; the painter is scaled for those
    // already.
    painter.save();
    painter.scale(static_cast<double>(picture.logicalDpiX()) / painter.device()->logicalDpiX(),
                  static_cast<double>(picture.logicalDpiY()) / painter.device()->logicalDpiY());
    painter.drawPicture(0, 0, picture);
    painter.restore();
    setViewport(before);
    restyle(Theme::current());
    replot(QCustomPlot::rpQueuedReplot);
}

void PlotCanvas::changeEvent(QEvent* event)
{
    QCustomPlot::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
        restyle(Theme::current());
        requestReplot();
    }
}

void PlotCanvas::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return;
    m_isPressed = true;
    m_pressedAt = event->position();
    setFocus(Qt::MouseFocusReason);
}

void PlotCanvas::mouseMoveEvent(QMouseEvent* event)
{
    if (plotArea().adjusted(-2, -2, 2, 2).contains(event->position()))
        Q_EMIT hovered(event->position());
    else
        Q_EMIT hoverLeft();
}

void PlotCanvas::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || !std::exchange(m_isPressed, false))
        return;
    const QPointF moved = event->position() - m_pressedAt;
    if (std::hypot(moved.x(), moved.y()) < kDragDistance && plotArea().contains(m_pressedAt))
        Q_EMIT clicked(m_pressedAt, event->modifiers());
}

void PlotCanvas::mouseDoubleClickEvent(QMouseEvent*)
{
    m_isPressed = false;
    if (m_view != nullptr)
        m_view->fit();
}

void PlotCanvas::wheelEvent(QWheelEvent* event)
{
    // Some platforms turn the wheel sideways while Shift is held.
    const int turned =
        event->angleDelta().y() != 0 ? event->angleDelta().y() : event->angleDelta().x();
    if (m_view == nullptr || turned == 0) {
        event->ignore();
        return;
    }
    const double notches = turned / 120.0;
    if (event->modifiers().testFlag(Qt::ShiftModifier))
        m_view->panBy(-0.1 * notches);
    else
        m_view->zoomAt(valuesAt(event->position()).x(), std::pow(0.8, notches));
    event->accept();
}

void PlotCanvas::leaveEvent(QEvent* event)
{
    QCustomPlot::leaveEvent(event);
    Q_EMIT hoverLeft();
}

void PlotCanvas::keyPressEvent(QKeyEvent* event)
{
    const double middle = valuesAt(plotArea().center()).x();
    if (m_view == nullptr)
        QCustomPlot::keyPressEvent(event);
    else if (event->key() == Qt::Key_Plus || event->key() == Qt::Key_Equal)
        m_view->zoomAt(middle, 0.8);
    else if (event->key() == Qt::Key_Minus)
        m_view->zoomAt(middle, 1.25);
    else if (event->key() == Qt::Key_0)
        m_view->fit();
    else if (event->key() == Qt::Key_F)
        m_view->setFollowing(!m_view->isFollowing());
    else
        QCustomPlot::keyPressEvent(event);
}

void PlotCanvas::focusInEvent(QFocusEvent* event)
{
    QCustomPlot::focusInEvent(event);
    updateOverlay();
}

void PlotCanvas::focusOutEvent(QFocusEvent* event)
{
    QCustomPlot::focusOutEvent(event);
    updateOverlay();
}

} // namespace kvscope
