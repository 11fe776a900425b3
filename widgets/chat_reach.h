#pragma once

#include "engine/cache/cache_snapshot.h"

#include <cstdint>

namespace kvscope {

/// Which layers can still read a position.
enum class Reach {
    NotCached,    ///< not in the context yet
    WindowedOnly, ///< in the windows of a model without global layers
    WindowsAndGlobal,
    GlobalOnly, ///< left every window, or there are none
    Gone,       ///< left the windows of a model without global layers
};

/// How far back the layers of a model reach, as the chat's gutter shows it.
struct ChatReach
{
    int windowedLayers = 0;
    int globalLayers = 0;
    std::int64_t firstInWindows = 0; ///< oldest position that some windowed layer retains
    std::int64_t contextLength = 0;

    static ChatReach of(const CacheSnapshot& cache);
    Reach at(std::int64_t position) const;
    /// Some position has left the windows.
    bool hasEdge() const { return windowedLayers > 0 && firstInWindows > 0; }

    bool operator==(const ChatReach&) const = default;
};

} // namespace kvscope
