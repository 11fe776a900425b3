#include "widgets/global_layers_layout.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kMargin = 10.0;
constexpr double kHeaderHeight = 18.0;
constexpr double kAxisHeight = 20.0;
constexpr double kMinRow = 18.0;
constexpr double kMaxRow = 26.0;
constexpr double kMaxGroupRow = 58.0;
constexpr double kMinBars = 150.0;
constexpr double kLabelGap = 4.0;

double columnWidth(GlobalColumn column)
{
    switch (column) {
    case GlobalColumn::Length:
    case GlobalColumn::Capacity:
        return 72;
    case GlobalColumn::Slack:
        return 64;
    case GlobalColumn::Live:
        return 78;
    case GlobalColumn::LastCopy:
        return 70;
    }
    return 0;
}

/// The columns that leave the bars their width, in the order they are shown.
std::vector<GlobalColumn> columnsFor(double width)
{
    constexpr GlobalColumn kKept[] = {GlobalColumn::Length, GlobalColumn::Live,
                                      GlobalColumn::Capacity, GlobalColumn::Slack,
                                      GlobalColumn::LastCopy};
    const double barsWanted = std::max(kMinBars, width * 0.42);
    std::vector<GlobalColumn> columns;
    double used = 0;
    for (const GlobalColumn column : kKept) {
        used += columnWidth(column);
        if (width - used < barsWanted)
            break;
        columns.push_back(column);
    }
    std::sort(columns.begin(), columns.end());
    return columns;
}

} // namespace

QRectF GlobalLayersLayout::row(int index, double scrolled) const
{
    return {rows.left(), rows.top() + index * rowHeight - scrolled, rows.width(), rowHeight};
}

QRectF GlobalLayersLayout::bar(int index, double scrolled) const
{
    const QRectF whole = row(index, scrolled);
    return {barsLeft, std::round(whole.center().y() - barHeight / 2), barsRight - barsLeft,
            barHeight};
}

GlobalLayersLayout layOutGlobalLayers(const QRectF& area, int rowCount, double namesWidth,
                                      bool groups)
{
    GlobalLayersLayout layout;
    const QRectF inside = area.adjusted(kMargin, 2, -kMargin, -2);
    layout.header = QRectF(inside.left(), inside.top(), inside.width(), kHeaderHeight);
    layout.axis = QRectF(inside.left(), inside.bottom() - kAxisHeight, inside.width(), kAxisHeight);
    const double rowsTop = layout.header.bottom();
    const double available = std::max(0.0, layout.axis.top() - rowsTop);
    layout.rowHeight = std::floor(
        std::clamp(available / std::max(rowCount, 1), kMinRow, groups ? kMaxGroupRow : kMaxRow));
    layout.rows = QRectF(inside.left(), rowsTop, inside.width(),
                         std::min(available, layout.rowHeight * rowCount));
    layout.axis.moveTop(layout.rows.bottom());
    layout.barHeight = std::floor(std::min(layout.rowHeight - 6, groups ? 28.0 : 14.0));

    layout.namesLeft = inside.left();
    layout.namesRight = std::min(inside.left() + namesWidth, inside.left() + inside.width() * 0.4);
    layout.barsLeft = std::round(layout.namesRight + 12);
    const auto columns = columnsFor(inside.right() - layout.barsLeft);
    double right = inside.right();
    for (auto column = columns.rbegin(); column != columns.rend(); ++column) {
        const double left = right - columnWidth(*column);
        layout.columns.insert(layout.columns.begin(), {*column, left, right});
        right = left;
    }
    layout.barsRight = std::round(columns.empty() ? right - 2 : right - 12);
    return layout;
}

double barX(const GlobalLayersLayout& layout, std::int64_t tokens, std::int64_t capacity)
{
    if (capacity <= 0)
        return layout.barsLeft;
    const double share = static_cast<double>(tokens) / static_cast<double>(capacity);
    return layout.barsLeft + std::clamp(share, 0.0, 1.0) * (layout.barsRight - layout.barsLeft);
}

std::optional<std::int64_t> barPosition(const GlobalLayersLayout& layout, double x,
                                        std::int64_t capacity)
{
    if (capacity <= 0 || x < layout.barsLeft || x >= layout.barsRight)
        return std::nullopt;
    const double share = (x - layout.barsLeft) / (layout.barsRight - layout.barsLeft);
    return std::min(static_cast<std::int64_t>(share * static_cast<double>(capacity)), capacity - 1);
}

std::vector<AxisLabel> axisLabels(const GlobalLayersLayout& layout, const LayerCacheState& layer,
                                  double (*textWidth)(const QString&))
{
    std::vector<AxisLabel> labels;
    const auto place = [&](AxisLabel::Kind kind, std::int64_t tokens, const QString& text) {
        AxisLabel label;
        label.kind = kind;
        label.text = text;
        label.width = textWidth(text);
        label.x = barX(layout, tokens, layer.capacity);
        label.left =
            std::round(std::clamp(label.x - label.width / 2, layout.barsLeft,
                                  std::max(layout.barsLeft, layout.barsRight - label.width)));
        const bool touches = std::any_of(labels.begin(), labels.end(), [&](const AxisLabel& other) {
            return label.left < other.left + other.width + kLabelGap &&
                   other.left < label.left + label.width + kLabelGap;
        });
        if (!touches)
            labels.push_back(label);
    };
    if (layer.capacity <= 0)
        return labels;
    place(AxisLabel::Kind::Length, layer.retained, countText(layer.retained));
    place(AxisLabel::Kind::Capacity, layer.capacity, countText(layer.capacity));
    const auto growth = copyingGrowth(layer);
    for (auto event = growth.rbegin(); event != growth.rend(); ++event)
        place(AxisLabel::Kind::Growth, event->atLength,
              QStringLiteral("→ ") + countText(event->newCapacity));
    return labels;
}

} // namespace kvscope
