#pragma once

#include "widgets/plot_include.h"
#include "widgets/series_thinning.h"
#include "widgets/theme.h"

#include <QPointF>
#include <QRectF>
#include <QSharedPointer>
#include <QString>
#include <QTimer>

#include <functional>
#include <vector>

namespace kvscope {

class PlotView;

/// One pair of axes in the product's look, moved by a PlotView: the wheel zooms at the pointer,
/// Shift and the wheel pan, a double click fits, + - 0 and F do the same from the keyboard. Its
/// owner fills graphs when `prepare` is called, and adds what QCustomPlot cannot draw.
class PlotCanvas : public QCustomPlot
{
    Q_OBJECT
public:
    /// Where an own drawing lies: under the grid, under the graphs, above graphs and axes, or on
    /// the layer that alone is painted again when the pointer moves.
    enum class Place { UnderGrid, UnderGraphs, Above, Overlay };
    using Drawing = std::function<void(QCPPainter&, const QRectF& plotArea, const Theme&)>;
    using Prepare = std::function<void(const PlotResolution&)>;
    using Restyle = std::function<void(const Theme&)>;

    explicit PlotCanvas(QWidget* parent = nullptr);

    /// \param view  shared or own; must outlive the canvas or be replaced
    void setView(PlotView* view);
    PlotView* view() const { return m_view; }
    void setXAxis(const QString& name, const QSharedPointer<QCPAxisTicker>& ticker);
    void setYAxis(const QString& name, const QSharedPointer<QCPAxisTicker>& ticker);
    /// Called before the graphs are drawn, when data, range or size changed.
    void setPrepare(Prepare prepare) { m_prepare = std::move(prepare); }
    /// Called with the colours in force: at first, when they change, and around an export.
    void setRestyle(Restyle restyle);
    void addDrawing(Place place, Drawing drawing);
    /// Room above the axes, in pixels, for bands and labels.
    void setTopMargin(int pixels);

    /// New data: thins and draws again, once, when the event loop comes round.
    void requestReplot();
    /// The selection moved: draws the overlay alone.
    void updateOverlay();
    /// The x and y under a point of the canvas, whether or not it lies on the axes.
    QPointF valuesAt(const QPointF& pixel) const;
    double xPixel(double x) const { return xAxis->coordToPixel(x); }
    double yPixel(double y) const { return yAxis->coordToPixel(y); }
    QRectF plotArea() const;
    /// What lies behind everything, in the colours in force.
    QBrush background() const { return mBackgroundBrush; }

    /// Draws everything at another size and in other colours; on paper or a pixmap. The screen is
    /// as before afterwards.
    void paintTo(QPainter& painter, const QSize& size, const Theme& theme);

Q_SIGNALS:
    void hovered(const QPointF& pixel); ///< the pointer moved over the axes
    void hoverLeft();
    void clicked(const QPointF& pixel, Qt::KeyboardModifiers modifiers);

protected:
    void changeEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    QSize minimumSizeHint() const override { return {120, 70}; }

private:
    void applyView();
    void restyle(const Theme& theme);
    void prepareGraphs();
    void drawXName(QCPPainter& painter, const QRectF& area, const Theme& theme);
    void drawFocus(QCPPainter& painter, const Theme& theme);

    PlotView* m_view = nullptr;
    Prepare m_prepare;
    Restyle m_restyle;
    QString m_xName;
    QPointF m_pressedAt;
    const Theme* m_theme;
    QTimer m_replotTimer;
    bool m_isPressed = false;
    bool m_isDrawn = false; ///< wholly, at least once
};

} // namespace kvscope
