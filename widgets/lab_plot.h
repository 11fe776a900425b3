#pragma once

#include "widgets/plot_panel.h"
#include "widgets/series_thinning.h"

#include <QPointF>
#include <QRectF>
#include <QString>

#include <optional>

namespace kvscope {

/// A plot of an experiment: its x axis is a length or a position of the experiment's own text, so
/// the chat's tokens have no place on it.
class LabPlot : public PlotPanel
{
    Q_OBJECT
protected:
    /// How a measured point is drawn: what was fitted is filled, what was held out hollow.
    enum class Mark { Dot, Square, HollowDot, HollowSquare };

    /// \param smallestFit  what the x axis shows at least
    LabPlot(const PlotTexts& texts, double smallestFit, QWidget* parent);
    ~LabPlot() override;

    std::optional<double> xOfToken(std::int64_t) const override { return std::nullopt; }
    std::optional<std::int64_t> tokenAt(const QPointF&) const override { return std::nullopt; }

    PlotView* view() const { return m_view; }
    /// The x axis ends a little past this.
    void setEnd(double x);
    void setAxes(const QString& xName, const QString& yName);
    /// New data: the plot and its readout follow.
    void dataChanged();

    QPointF pixelOf(double x, double y) const;
    void drawMark(QCPPainter& painter, const QPointF& at, Mark mark, const QColor& color) const;
    /// A vertical interval with short ends.
    void drawInterval(QCPPainter& painter, double x, double low, double high,
                      const QColor& color) const;
    /// A dashed line over the whole height with its label beside the top, kept inside.
    void drawLine(QCPPainter& painter, const QRectF& area, double x, const QString& label,
                  const QColor& color, Qt::PenStyle style) const;
    /// One line of text in the upper margin: a swatch of the pen, then the text. \returns its end
    double drawKey(QCPPainter& painter, double x, double y, const QPen& pen, const QString& text,
                   const Theme& theme) const;

private:
    PlotView* m_view;
};

} // namespace kvscope
