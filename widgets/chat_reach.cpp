#include "widgets/chat_reach.h"

#include <algorithm>

namespace kvscope {

ChatReach ChatReach::of(const CacheSnapshot& cache)
{
    ChatReach reach;
    reach.contextLength = cache.contextLength;
    std::int64_t first = cache.contextLength;
    for (const LayerCacheState& layer : cache.layers) {
        if (!layer.isWindowed) {
            ++reach.globalLayers;
            continue;
        }
        ++reach.windowedLayers;
        // A ring may keep more slots than its window, so that it can be cut back; a query reads
        // only the window.
        const std::int64_t readable =
            std::max(layer.firstPosition, cache.contextLength - layer.window);
        first = std::min(first, readable);
    }
    if (reach.windowedLayers > 0)
        reach.firstInWindows = std::max<std::int64_t>(0, first);
    return reach;
}

Reach ChatReach::at(std::int64_t position) const
{
    if (position < 0 || position >= contextLength)
        return Reach::NotCached;
    const bool inWindows = windowedLayers > 0 && position >= firstInWindows;
    if (globalLayers > 0)
        return inWindows ? Reach::WindowsAndGlobal : Reach::GlobalOnly;
    return inWindows ? Reach::WindowedOnly : Reach::Gone;
}

} // namespace kvscope
