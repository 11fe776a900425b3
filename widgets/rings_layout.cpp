#include "widgets/rings_layout.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kLabelRoomX = 50.0; ///< beside the ring: "head", "112", "614 left"
constexpr double kLabelRoomY = 34.0; ///< above and below: tick labels and "last out"
constexpr double kInnerShare = 0.72;
constexpr double kMargin = 8.0;
constexpr double kCellWidth = 144.0;
constexpr double kWordsWidth = 74.0; ///< "1,815–1,942" beside a small ring
constexpr double kMaxCellWidth = 220.0;
constexpr double kCellHeight = 76.0;
constexpr double kMaxCellHeight = 150.0;
constexpr double kMaxSmallDiameter = 104.0;
constexpr double kCaptionHeight = 20.0;
constexpr double kLegendHeight = 96.0;

RingFrame ringIn(const QPointF& center, double outer)
{
    return {center, std::round(outer * kInnerShare), std::round(outer)};
}

SmallRingCell smallCell(const QRectF& cell)
{
    const double diameter = std::min(
        {cell.height() - 10, kMaxSmallDiameter, std::max(48.0, cell.width() - kWordsWidth - 12)});
    SmallRingCell small;
    small.cell = cell;
    small.frame =
        ringIn({std::round(cell.left() + diameter / 2 + 4), std::round(cell.center().y())},
               diameter / 2 - 1);
    const double textLeft = small.frame.center.x() + diameter / 2 + 8;
    small.text = QRectF(textLeft, cell.top(), cell.right() - textLeft, cell.height());
    return small;
}

} // namespace

RingsLayout layOutRings(const QRectF& area, int smallRings)
{
    RingsLayout layout;
    const QRectF inside = area.adjusted(kMargin, kMargin / 2, -kMargin, -kMargin / 2);
    const double wanted = inside.height() - 2 * kLabelRoomY + 2 * kLabelRoomX;
    const bool hasSide = inside.width() - std::min(wanted, inside.width() * 0.58) >= kCellWidth;
    const double mainWidth =
        std::round(hasSide ? std::min(wanted, inside.width() * 0.58) : inside.width());
    layout.mainArea = QRectF(inside.left(), inside.top(), mainWidth, inside.height());
    const double radius = std::min(mainWidth / 2 - kLabelRoomX, inside.height() / 2 - kLabelRoomY);
    const QPointF center = layout.mainArea.center();
    layout.main = ringIn({std::round(center.x()), std::round(center.y())}, std::max(radius, 20.0));
    if (!hasSide)
        return layout;

    QRectF side(layout.mainArea.right() + kMargin, inside.top(),
                inside.right() - layout.mainArea.right() - kMargin, inside.height());
    if (side.height() >= 2 * kCellHeight + kCaptionHeight && side.width() >= 330) {
        layout.caption =
            QRectF(side.left(), side.bottom() - kCaptionHeight, side.width(), kCaptionHeight);
        side.setBottom(layout.caption.top());
    }
    if (smallRings == 0) {
        layout.legend = side.adjusted(2, 0, 0, 0);
        return layout;
    }
    const int columns = std::max(1, static_cast<int>(side.width() / kCellWidth));
    const int rows = std::max(1, static_cast<int>(side.height() / kCellHeight));
    const int cells = columns * rows;
    const int shown = smallRings <= cells ? smallRings : cells - 1;
    // Rows share the height once it is known how many are used.
    const int usedCells = std::min(cells, std::max(smallRings + 1, columns));
    const int usedRows = std::max(1, (usedCells + columns - 1) / columns);
    const double width = std::floor(std::min(side.width() / columns, kMaxCellWidth));
    const double height = std::floor(std::min(side.height() / usedRows, kMaxCellHeight));
    const auto cellAt = [&](int index) {
        return QRectF(std::round(side.left()) + index % columns * width,
                      std::round(side.top()) + index / columns * height, width, height);
    };
    for (int i = 0; i < shown; ++i)
        layout.small.push_back(smallCell(cellAt(i).adjusted(0, 0, -kMargin, 0)));
    if (smallRings > cells)
        layout.more = cellAt(cells - 1).adjusted(0, 0, -kMargin, 0);
    else if (smallRings < cells && height >= kLegendHeight)
        layout.legend = cellAt(smallRings).adjusted(2, 0, -kMargin, 0);
    return layout;
}

} // namespace kvscope
