#pragma once

#include "engine/cache/cache_snapshot.h"

#include <QString>

#include <cstdint>
#include <vector>

namespace kvscope {

/// One bar of the Global layers panel: a layer, or layers that hold the same.
struct GlobalRow
{
    std::vector<int> layers;          ///< indices in the model, ascending
    LayerCacheState state;            ///< of the first of them
    std::uint64_t liveBytes = 0;      ///< of all of them
    std::uint64_t allocatedBytes = 0; ///< of all of them
    double lastCopySeconds = -1.0;    ///< the longest last copy among them; negative: never copied

    int count() const { return static_cast<int>(layers.size()); }
};

enum class GlobalGrouping { EachLayer, AlikeLayers };

/// The global layers of a snapshot as rows. AlikeLayers puts layers of the same length, capacity
/// and growth into one row (they grow in step), whatever their copies took.
std::vector<GlobalRow> globalRows(const CacheSnapshot& snapshot, GlobalGrouping grouping);

/// "L5", "L0–L29", "L1, L3 … L11", or the list of names.
QString layerNames(const std::vector<int>& layers);

/// Reallocations that had something to copy.
std::vector<GrowthEvent> copyingGrowth(const LayerCacheState& layer);
/// Tokens moved by all of them.
std::int64_t tokensCopied(const LayerCacheState& layer);

/// The panel's line: "6 growing arrays, grown 5 times at the marked lengths; 4,096 tokens copied
/// for 1,943 kept; cap 4,000,000".
QString globalLayersLine(const std::vector<GlobalRow>& eachLayer, std::int64_t capTokens);

} // namespace kvscope
