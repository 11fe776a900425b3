#pragma once

#include "widgets/global_layers_rows.h"

#include <QRectF>
#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

namespace kvscope {

/// What the numbers beside a bar are.
enum class GlobalColumn { Length, Capacity, Slack, Live, LastCopy };

struct GlobalColumnSpan
{
    GlobalColumn column = GlobalColumn::Length;
    double left = 0.0;
    double right = 0.0; ///< numbers end here
};

/// Where everything of the Global layers panel lies. Where it is narrow, columns go in this order:
/// last copy, slack, capacity, live, length; then the word beside the names.
struct GlobalLayersLayout
{
    QRectF header; ///< column titles and the selection's flag
    QRectF rows;   ///< the part that scrolls
    QRectF axis;   ///< growth labels
    double namesLeft = 0.0;
    double namesRight = 0.0;
    double barsLeft = 0.0;
    double barsRight = 0.0; ///< where the capacity ends
    double rowHeight = 0.0;
    double barHeight = 0.0;
    std::vector<GlobalColumnSpan> columns;

    double contentHeight(int rowCount) const { return rowHeight * rowCount; }
    QRectF row(int index, double scrolled) const;
    QRectF bar(int index, double scrolled) const;
};

/// \param rowCount  bars  \param namesWidth  of the widest name  \param groups  rows stand for
/// several
///                  layers and may be tall
GlobalLayersLayout layOutGlobalLayers(const QRectF& area, int rowCount, double namesWidth,
                                      bool groups);

/// The pixel where `tokens` tokens end, of a bar that is `capacity` tokens long.
double barX(const GlobalLayersLayout& layout, std::int64_t tokens, std::int64_t capacity);
/// The position under a pixel, nothing outside the bar.
std::optional<std::int64_t> barPosition(const GlobalLayersLayout& layout, double x,
                                        std::int64_t capacity);

/// A text under the bars.
struct AxisLabel
{
    enum class Kind { Growth, Length, Capacity } kind = Kind::Growth;
    double x = 0.0; ///< of the tick
    double left = 0.0;
    double width = 0.0;
    QString text;
};

/// The labels that fit: length first, then capacity, then growth from the newest back; one that
/// would touch another is left out. Kept within the bars' width. \param textWidth  pixels of a text
/// in the axis font
std::vector<AxisLabel> axisLabels(const GlobalLayersLayout& layout, const LayerCacheState& layer,
                                  double (*textWidth)(const QString&));

} // namespace kvscope
