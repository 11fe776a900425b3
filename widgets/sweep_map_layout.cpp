#include "widgets/sweep_map_layout.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kMargin = 8.0;
constexpr double kGap = 2.0; ///< between cells
constexpr double kLabels = 66.0;
constexpr double kNarrowColumn = 58.0; ///< "131,072" over ".65–.99"
constexpr double kWideColumn = 172.0;
constexpr double kNarrowSide = 148.0;
constexpr double kWideSide = 320.0;
constexpr double kSideFrom = 560.0;       ///< narrower panels drop the marginal by depth
constexpr double kTwoAbreastFrom = 620.0; ///< narrower panels stack what is below the map
constexpr double kTallRow = 68.0;
constexpr std::size_t kManyDepths = 11; ///< more have one line each
constexpr double kShortPlot = 56.0;
constexpr double kTallPlot = 132.0;
constexpr std::size_t kThickBars = 7;
constexpr double kInset = kMargin + 4; ///< of the texts below the map
constexpr double kTwoAbreastShare = 0.56;
constexpr double kNameGap = 10.0;    ///< px between a name and what follows
constexpr double kValueGap = 14.0;   ///< px between a value and its note
constexpr double kLeastValue = 64.0; ///< px, so that short values' notes stand in a column
constexpr double kIndent = 16.0;     ///< px, of what stands below its name
constexpr double kTitleGap = 6.0;

/// Heights that do not depend on the room.
struct Heights
{
    double header, leak, row, control, oracle, ends, wrong;
};

Heights heightsOf(const SweepMapShape& shape, bool isTwoLine, double summaryHeight)
{
    Heights heights{};
    heights.header =
        std::ceil(shape.line + (shape.hasTrainedLine ? 2.0 : 1.0) * shape.smallLine + 6);
    heights.leak = shape.isLeaking ? std::ceil(shape.line + 8) : 0.0;
    heights.row = std::ceil(isTwoLine ? shape.line + shape.smallLine + 4 : shape.line + 4);
    heights.control = heights.row;
    heights.oracle = std::ceil(shape.line + 10);
    heights.ends = std::ceil(summaryHeight + 2 * kMargin + 2);
    const double bar = shape.depths <= kThickBars ? shape.smallLine + 2 : shape.smallLine;
    heights.wrong = std::ceil(shape.line + 4 + bar * static_cast<double>(shape.depths) +
                              2 * shape.smallLine + 2 * kMargin);
    return heights;
}

/// Widths from left to right.
void layOutWidths(SweepMapLayout& layout)
{
    const QRectF& area = layout.area;
    const auto count = static_cast<double>(std::max<std::size_t>(1, layout.shape.columns));
    layout.gridLeft = std::round(area.left() + kMargin + kLabels);
    const bool hasSide = area.width() >= kSideFrom;
    const double most = area.right() - kMargin - (hasSide ? kNarrowSide + kMargin : 0.0);
    layout.columnWidth =
        std::clamp(std::floor((most - layout.gridLeft) / count), kNarrowColumn, kWideColumn);
    layout.contentWidth = layout.columnWidth * count;
    layout.gridRight = std::min(std::floor(most), layout.gridLeft + layout.contentWidth);
    if (!hasSide)
        return;
    const double left = layout.gridRight + kMargin;
    const double width = std::min(area.right() - kMargin - left, kWideSide);
    layout.side = QRectF(left, area.top(), width, area.height());
}

/// What is left over makes rows and the plot taller.
void shareHeight(SweepMapLayout& layout, double used, double& plot)
{
    const auto depths = static_cast<double>(std::max<std::size_t>(1, layout.shape.depths));
    double spare = std::max(0.0, layout.view.height() - used);
    const double grown =
        std::min(std::floor(spare * 0.75 / depths), std::max(0.0, kTallRow - layout.rowHeight));
    layout.rowHeight += grown;
    spare -= grown * depths;
    plot = std::min(kTallPlot, plot + std::floor(spare));
}

} // namespace

QRectF SweepMapLayout::cell(std::size_t column, std::size_t depth) const
{
    return {columnLeft(column), firstRow + rowHeight * static_cast<double>(depth),
            columnWidth - kGap, rowHeight - kGap};
}

QRectF SweepMapLayout::control(std::size_t column) const
{
    return {columnLeft(column), controlTop, columnWidth - kGap, controlHeight};
}

QRectF SweepMapLayout::columnCells(std::size_t column) const
{
    return {columnLeft(column), firstRow, columnWidth - kGap,
            rowHeight * static_cast<double>(shape.depths) - kGap};
}

QRectF SweepMapLayout::rectOf(const SweepCellKey& key) const
{
    switch (key.role) {
    case TrialRole::Asked:
        return cell(key.column, key.depth);
    case TrialRole::Control:
        return control(key.column);
    case TrialRole::Oracle:
        return oracle;
    }
    return {};
}

QRectF SweepMapLayout::gridView() const
{
    return {gridLeft, view.top(), gridRight - gridLeft, view.height()};
}

std::optional<SweepCellKey> SweepMapLayout::keyAt(const QPointF& point) const
{
    if (shape.isEmpty() || !gridView().contains(point))
        return std::nullopt;
    if (oracle.contains(point))
        return SweepCellKey{TrialRole::Oracle, 0, 0};
    const double across = (point.x() - firstColumn) / columnWidth;
    if (across < 0 || across >= static_cast<double>(shape.columns))
        return std::nullopt;
    const auto column = static_cast<std::size_t>(across);
    if (control(column).contains(point))
        return SweepCellKey{TrialRole::Control, column, 0};
    const double down = (point.y() - firstRow) / rowHeight;
    if (down < 0 || down >= static_cast<double>(shape.depths))
        return std::nullopt;
    const SweepCellKey key{TrialRole::Asked, column, static_cast<std::size_t>(down)};
    return rectOf(key).contains(point) ? std::optional(key) : std::nullopt;
}

SweepMapLayout layOutSweepMap(const QRectF& area, const SweepMapShape& shape,
                              const SweepMapScroll& scroll)
{
    SweepMapLayout layout;
    layout.shape = shape;
    layout.area = area;
    layout.hasTwoLines = shape.depths <= kManyDepths;
    const double width = area.width();
    const bool isTwoAbreast = width >= kTwoAbreastFrom;
    const double endsWidth = isTwoAbreast ? std::round(width * kTwoAbreastShare) : width;
    layout.summary = placeSummary(shape.summary, endsWidth - kInset - kMargin, shape.line);
    const Heights heights = heightsOf(shape, layout.hasTwoLines, layout.summary.height);
    layout.header = QRectF(area.left(), area.top(), area.width(), heights.header);
    layout.view = QRectF(area.left(), layout.header.bottom(), area.width(),
                         std::max(0.0, area.bottom() - layout.header.bottom()));
    layOutWidths(layout);
    layout.firstColumn = layout.gridLeft - scroll.x;

    const double below =
        isTwoAbreast ? std::max(heights.ends, heights.wrong) : heights.ends + heights.wrong;
    const auto depths = static_cast<double>(shape.depths);
    double plot = kShortPlot;
    layout.rowHeight = heights.row + kGap;
    const double axisLabel = std::ceil(shape.smallLine / 2); // "100 %" stands half above the plot
    const double plotWords = shape.line + axisLabel + shape.smallLine + 2 * kMargin;
    const double used = heights.leak + layout.rowHeight * depths + kMargin + heights.control +
                        kGap + heights.oracle + kMargin + plotWords + plot + below;
    shareHeight(layout, used, plot);

    double y = layout.view.top() - scroll.y;
    const double top = y;
    const double gridWidth = layout.gridRight - layout.gridLeft;
    if (shape.isLeaking)
        layout.leakBand = QRectF(layout.gridLeft, y, gridWidth - kGap, heights.leak - 4);
    y += heights.leak;
    layout.firstRow = y;
    if (!layout.side.isNull())
        layout.byDepth =
            QRectF(layout.side.left(), y, layout.side.width(), layout.rowHeight * depths - kGap);
    y += layout.rowHeight * depths + kMargin - kGap;
    layout.controlTop = y;
    layout.controlHeight = heights.control;
    y += heights.control + kGap;
    layout.oracle = QRectF(layout.gridLeft, y, gridWidth - kGap, heights.oracle);
    y = layout.oracle.bottom() + kMargin;
    layout.byLengthTitle = QRectF(area.left() + kMargin, y, area.width() - 2 * kMargin, shape.line);
    y += shape.line + axisLabel;
    layout.byLength = QRectF(layout.gridLeft, y, gridWidth - kGap, plot);
    y += plot + 4;
    layout.byLengthScores = QRectF(layout.gridLeft, y, gridWidth - kGap, shape.smallLine);
    y += shape.smallLine + kMargin;

    layout.ends = QRectF(area.left(), y, endsWidth, isTwoAbreast ? below : heights.ends);
    layout.summaryAt = layout.ends.topLeft() + QPointF(kInset, kMargin);
    if (isTwoAbreast)
        layout.wrong = QRectF(area.left() + endsWidth, y, width - endsWidth, below);
    else
        layout.wrong = QRectF(area.left(), layout.ends.bottom(), width, heights.wrong);
    layout.contentHeight = layout.wrong.bottom() - top;
    return layout;
}

SummaryPlaces placeSummary(const std::vector<SummaryRowWidths>& rows, double width, double line)
{
    double names = 0.0;
    for (const SummaryRowWidths& row : rows)
        if (!row.isTitle)
            names = std::max(names, row.name + kNameGap);
    SummaryPlaces places;
    double y = 0.0;
    for (const SummaryRowWidths& row : rows) {
        if (row.isTitle && y > 0.0)
            y += kTitleGap;
        SummaryRowPlace place{{0.0, y}, {}, {}};
        double x = row.isTitle ? row.name + kNameGap : names;
        if (row.value > 0.0 && x + row.value > width) {
            y += line;
            x = kIndent;
        }
        place.value = {x, y};
        if (row.value > 0.0)
            x += std::max(kLeastValue, row.value + kValueGap);
        if (row.note > 0.0 && x + row.note > width) {
            y += line;
            x = row.isTitle ? 0.0 : names + row.note <= width ? names : kIndent;
        }
        place.note = {x, y};
        places.rows.push_back(place);
        y += line;
    }
    places.height = y;
    return places;
}

QSizeF wholeSweepMapSize(const SweepMapShape& shape, const QSizeF& atLeast)
{
    const double columns = kNarrowColumn * static_cast<double>(shape.columns);
    const double width = std::max(atLeast.width(), 4 * kMargin + kLabels + columns + kNarrowSide);
    const SweepMapLayout layout =
        layOutSweepMap(QRectF(0, 0, std::max(width, kTwoAbreastFrom), 0), shape);
    const double height = layout.header.height() + layout.contentHeight;
    return {std::max(width, kTwoAbreastFrom), std::max(atLeast.height(), std::ceil(height))};
}

SweepCellKey neighbourOf(const SweepCellKey& key, int columns, int rows, const SweepMapShape& shape)
{
    const int lastColumn = std::max(0, static_cast<int>(shape.columns) - 1);
    const int controlRow = static_cast<int>(shape.depths);
    int row = key.role == TrialRole::Asked     ? static_cast<int>(key.depth)
              : key.role == TrialRole::Control ? controlRow
                                               : controlRow + 1;
    row = std::clamp(row + rows, 0, controlRow + 1);
    const auto column =
        static_cast<std::size_t>(std::clamp(static_cast<int>(key.column) + columns, 0, lastColumn));
    if (row < controlRow)
        return {TrialRole::Asked, column, static_cast<std::size_t>(row)};
    // The oracle is one cell, but keeps the column so that going up again returns there.
    return {row == controlRow ? TrialRole::Control : TrialRole::Oracle, column, 0};
}

} // namespace kvscope
