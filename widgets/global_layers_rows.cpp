#include "widgets/global_layers_rows.h"

#include "widgets/number_format.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>

namespace kvscope {
namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::GlobalLayersPanel", text);
}

bool isAlike(const LayerCacheState& first, const LayerCacheState& second)
{
    return first.retained == second.retained && first.capacity == second.capacity &&
           first.liveBytes == second.liveBytes && first.allocatedBytes == second.allocatedBytes &&
           std::equal(first.growth.begin(), first.growth.end(), second.growth.begin(),
                      second.growth.end(), [](const GrowthEvent& a, const GrowthEvent& b) {
                          return a.atLength == b.atLength && a.newCapacity == b.newCapacity;
                      });
}

void add(GlobalRow& row, int layer, const LayerCacheState& state)
{
    if (row.layers.empty())
        row.state = state;
    row.layers.push_back(layer);
    row.liveBytes += state.liveBytes;
    row.allocatedBytes += state.allocatedBytes;
    const auto copies = copyingGrowth(state);
    if (!copies.empty())
        row.lastCopySeconds = std::max(row.lastCopySeconds, copies.back().copySeconds);
}

QString name(int layer)
{
    return QStringLiteral("L%1").arg(layer);
}

} // namespace

std::vector<GlobalRow> globalRows(const CacheSnapshot& snapshot, GlobalGrouping grouping)
{
    std::vector<GlobalRow> rows;
    for (std::size_t layer = 0; layer < snapshot.layers.size(); ++layer) {
        const LayerCacheState& state = snapshot.layers[layer];
        if (state.isWindowed)
            continue;
        auto row = rows.end();
        if (grouping == GlobalGrouping::AlikeLayers)
            row = std::find_if(rows.begin(), rows.end(), [&](const GlobalRow& candidate) {
                return isAlike(candidate.state, state);
            });
        if (row == rows.end())
            row = rows.emplace(rows.end());
        add(*row, static_cast<int>(layer), state);
    }
    return rows;
}

QString layerNames(const std::vector<int>& layers)
{
    if (layers.size() < 3) {
        QStringList names;
        for (const int layer : layers)
            names.append(name(layer));
        return names.join(QStringLiteral(", "));
    }
    const int stride = layers[1] - layers[0];
    for (std::size_t i = 1; i < layers.size(); ++i)
        if (layers[i] - layers[i - 1] != stride)
            return name(layers[0]) + QStringLiteral(", ") + name(layers[1]) +
                   QStringLiteral(" … ") + name(layers.back());
    if (stride == 1)
        return name(layers.front()) + QChar(0x2013) + name(layers.back());
    return name(layers[0]) + QStringLiteral(", ") + name(layers[1]) + QStringLiteral(" … ") +
           name(layers.back());
}

std::vector<GrowthEvent> copyingGrowth(const LayerCacheState& layer)
{
    std::vector<GrowthEvent> copies;
    for (const GrowthEvent& event : layer.growth)
        if (event.atLength > 0)
            copies.push_back(event);
    return copies;
}

std::int64_t tokensCopied(const LayerCacheState& layer)
{
    std::int64_t tokens = 0;
    for (const GrowthEvent& event : copyingGrowth(layer))
        tokens += event.atLength;
    return tokens;
}

QString globalLayersLine(const std::vector<GlobalRow>& eachLayer, std::int64_t capTokens)
{
    const auto count = static_cast<std::int64_t>(eachLayer.size());
    QString line =
        count == 1 ? tr("1 growing array") : tr("%1 growing arrays").arg(countText(count));
    const LayerCacheState& first = eachLayer.front().state;
    const auto copies = copyingGrowth(first);
    if (!copies.empty())
        line +=
            (copies.size() == 1 ? tr(", grown once at the marked length")
                                : tr(", grown %1 times at the marked lengths").arg(copies.size())) +
            tr("; %1 tokens copied for %2 kept")
                .arg(countText(tokensCopied(first)), countText(first.retained));
    return line + tr("; cap %1").arg(countText(capTokens));
}

} // namespace kvscope
