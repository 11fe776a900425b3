#pragma once

#include "widgets/sweep_cells.h"

#include <QPointF>
#include <QRectF>

#include <cstddef>
#include <optional>
#include <vector>

namespace kvscope {

/// The widths of a line below the map, in pixels; 0 where there is no such text.
struct SummaryRowWidths
{
    double name = 0.0;
    double value = 0.0;
    double note = 0.0;
    bool isTitle = false; ///< has no value, and a little room above it
};

/// Where its texts begin, from the top left of the first line.
struct SummaryRowPlace
{
    QPointF name;
    QPointF value;
    QPointF note;
};

struct SummaryPlaces
{
    std::vector<SummaryRowPlace> rows;
    double height = 0.0;
};

/// Values stand in a column behind the names, notes behind the values. What does not fit there
/// stands in a line of its own below; only what is wider than the whole room cannot be shown whole.
/// \param line  height of a line
SummaryPlaces placeSummary(const std::vector<SummaryRowWidths>& rows, double width, double line);

/// What the layout of a sweep's map depends on, beside the room.
struct SweepMapShape
{
    std::size_t columns = 0; ///< lengths
    std::size_t depths = 0;
    bool isLeaking = false;                ///< a band over the map says so
    bool hasTrainedLine = true;            ///< a third line of the header names the trained length
    double line = 17.0;                    ///< height of a line of body text
    double smallLine = 14.0;               ///< height of a line of secondary text
    std::vector<SummaryRowWidths> summary; ///< of the lines below the map

    bool isEmpty() const { return columns == 0; }
};

/// How far the map is moved within its panel, in pixels.
struct SweepMapScroll
{
    double x = 0.0; ///< of the lengths alone
    double y = 0.0; ///< of everything below the header
};

/// Where everything of a sweep's map lies, in the panel's pixels and as scrolled.
///
/// With less width, first the marginal by depth goes, then what stands side by side below the map
/// goes one under the other, then the lengths scroll. With less height, rows shrink (to one line
/// where there are many depths), then all below the header scrolls. Nothing overlaps.
struct SweepMapLayout
{
    SweepMapShape shape;
    QRectF area;
    QRectF header;         ///< lengths and their times; stays at the top
    QRectF view;           ///< below the header: where the rest is seen
    double gridLeft = 0.0; ///< the lengths are seen from here to gridRight
    double gridRight = 0.0;
    double columnWidth = 0.0;
    double rowHeight = 0.0;
    bool hasTwoLines = true;  ///< a cell has room for the interval beneath its score
    double firstColumn = 0.0; ///< left side of the first length, as scrolled
    double firstRow = 0.0;    ///< top of the first depth, as scrolled
    QRectF leakBand;          ///< empty unless leaking
    double controlTop = 0.0;
    double controlHeight = 0.0;
    QRectF oracle;
    QRectF byDepth; ///< beside the rows; empty where there is no room
    QRectF side;    ///< right of the lengths, over the whole height; empty with byDepth
    QRectF byLengthTitle;
    QRectF byLength;            ///< the plot
    QRectF byLengthScores;      ///< a line of k/n under it
    QRectF ends;                ///< ends against middle, and effective lengths
    QPointF summaryAt;          ///< where their first line begins
    SummaryPlaces summary;      ///< their lines, from there
    QRectF wrong;               ///< wrong answers by depth
    double contentWidth = 0.0;  ///< of all lengths
    double contentHeight = 0.0; ///< of all below the header

    double columnLeft(std::size_t column) const
    {
        return firstColumn + columnWidth * static_cast<double>(column);
    }
    QRectF cell(std::size_t column, std::size_t depth) const;
    QRectF control(std::size_t column) const;
    /// All depths of a length.
    QRectF columnCells(std::size_t column) const;
    QRectF rectOf(const SweepCellKey& key) const;
    /// What is seen of the columns.
    QRectF gridView() const;
    /// The cell under a pixel that is seen; nothing beside them and in the gaps.
    std::optional<SweepCellKey> keyAt(const QPointF& point) const;
    bool scrollsSideways() const { return contentWidth > gridRight - gridLeft + 0.5; }
    bool scrollsDown() const { return contentHeight > view.height() + 0.5; }
};

/// \param area  of the map, without the panel's title and scroll bars
SweepMapLayout layOutSweepMap(const QRectF& area, const SweepMapShape& shape,
                              const SweepMapScroll& scroll = {});

/// The room in which a map shows everything without scrolling, for exported pictures.
QSizeF wholeSweepMapSize(const SweepMapShape& shape, const QSizeF& atLeast);

/// The next cell in a direction among those of the map: rows are the depths, then the controls,
/// then the oracle. Stays where there is none.
SweepCellKey neighbourOf(const SweepCellKey& key, int columns, int rows,
                         const SweepMapShape& shape);

} // namespace kvscope
