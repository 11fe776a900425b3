#include "widgets/token_panel_reach.h"

#include <algorithm>

namespace kvscope {
namespace {

constexpr std::size_t kSmallestFold = 3;

LayerReach layerReach(std::int64_t position, const LayerCacheState& layer)
{
    LayerReach reach;
    reach.isWindowed = layer.isWindowed;
    reach.isHeld =
        position >= layer.firstPosition && position < layer.firstPosition + layer.retained;
    reach.slot = layer.isWindowed && layer.capacity > 0 ? position % layer.capacity : position;
    if (!reach.isHeld)
        reach.leftAt = position + layer.window;
    return reach;
}

std::uint64_t bytesPerToken(const LayerCacheState& layer, std::size_t index,
                            const CacheSnapshot& cache, const ModelDescription& model)
{
    if (model.layers.size() == cache.layers.size() && model.layers[index].cacheBytesPerToken > 0)
        return static_cast<std::uint64_t>(model.layers[index].cacheBytesPerToken * cache.batch);
    return layer.retained > 0 ? layer.liveBytes / static_cast<std::uint64_t>(layer.retained) : 0;
}

TokenVerdict verdictOf(const TokenReach& reach)
{
    const auto isMissing = [](const LayerReach& layer) { return !layer.isHeld; };
    const auto isHeldWindow = [](const LayerReach& layer) {
        return layer.isWindowed && layer.isHeld;
    };
    if (reach.layersHolding == 0)
        return TokenVerdict::Gone;
    if (std::none_of(reach.layers.begin(), reach.layers.end(), isMissing))
        return TokenVerdict::Everywhere;
    return std::any_of(reach.layers.begin(), reach.layers.end(), isHeldWindow)
               ? TokenVerdict::SomeLayers
               : TokenVerdict::GlobalOnly;
}

} // namespace

TokenReach reachOf(std::int64_t position, const CacheSnapshot& cache, const ModelDescription& model)
{
    TokenReach reach;
    if (position < 0 || position >= cache.contextLength || cache.layers.empty())
        return reach;
    for (std::size_t i = 0; i < cache.layers.size(); ++i) {
        const LayerCacheState& layer = cache.layers[i];
        reach.layers.push_back(layerReach(position, layer));
        if (!reach.layers.back().isHeld)
            continue;
        ++reach.layersHolding;
        reach.heldBytes += bytesPerToken(layer, i, cache, model);
        if (!layer.isWindowed)
            continue;
        const std::int64_t left = position + layer.window - cache.contextLength + 1;
        if (left > 0 && (reach.leavesWindowsIn == 0 || left < reach.leavesWindowsIn))
            reach.leavesWindowsIn = left;
    }
    reach.verdict = verdictOf(reach);
    return reach;
}

std::vector<ReachRow> foldedRows(const std::vector<LayerReach>& layers)
{
    std::vector<ReachRow> rows;
    for (std::size_t begin = 0; begin < layers.size();) {
        std::size_t end = begin + 1;
        while (end < layers.size() && layers[end] == layers[begin])
            ++end;
        const std::size_t step = end - begin >= kSmallestFold ? end - begin : 1;
        for (; begin < end; begin += step)
            rows.push_back({static_cast<std::int64_t>(begin),
                            static_cast<std::int64_t>(begin + step) - 1, layers[begin]});
    }
    return rows;
}

} // namespace kvscope
