#pragma once

#include "engine/lab/routing_report.h"
#include "widgets/export_menu.h"

#include <QColor>
#include <QRectF>
#include <QSizeF>
#include <QString>

#include <memory>

class QPainter;

namespace kvscope {

struct Theme;

/// An expert that fewer tokens visit is marked as nearly unused.
inline constexpr double kRarelyVisited = 0.05;

/// Where things stand in a picture of a routing: two heatmaps, one below the other, a row a layer.
/// A map that the report has nothing for takes no room.
struct RoutingLayout
{
    double cellWidth = 0.0;
    QRectF experts; ///< the cells of layer by expert; empty: none
    QRectF sinks;   ///< the cells of layer by head; empty: none
    QSizeF size;    ///< of all

    /// The cell of a map, in which `columns` stand beside each other.
    QRectF cell(const QRectF& map, std::size_t row, std::size_t column) const;
};

RoutingLayout routingLayout(const RoutingReport& report);

/// From the panel's colour at 0 to the theme's highlight at 1, never stretched to the data.
QColor shareColor(double share, const Theme& theme);

/// Draws both heatmaps with names, values in percent and the scale, without clipping. An expert
/// that fewer than 5 % of the tokens visit has a triangle beside its value.
void paintRoutingPlots(QPainter& painter, const QRectF& area, const RoutingReport& report,
                       const Theme& theme);

/// Its picture and its numbers. \param report  not null \param caption  the recipe
ExportSource routingExportSource(std::shared_ptr<const RoutingReport> report,
                                 const QString& caption);

} // namespace kvscope
