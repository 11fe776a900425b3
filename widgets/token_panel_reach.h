#pragma once

#include "engine/cache/cache_snapshot.h"
#include "engine/session/engine_snapshot.h"

#include <cstdint>
#include <vector>

namespace kvscope {

/// What one layer's cache does with a token.
struct LayerReach
{
    bool isWindowed = false;
    bool isHeld = false;
    std::int64_t slot = 0;   ///< where it lies, or lay while it was held
    std::int64_t leftAt = 0; ///< the position whose query was the first not to see it; 0 while held

    bool operator==(const LayerReach&) const = default;
};

enum class TokenVerdict {
    NotCached, ///< its keys and values have not been stored yet
    Everywhere,
    GlobalOnly, ///< the windows have moved on
    SomeLayers, ///< windows of different lengths: some still hold it
    Gone        ///< no layer holds it
};

/// Who can still attend to a token, worked out from the cache's bookkeeping alone.
struct TokenReach
{
    TokenVerdict verdict = TokenVerdict::NotCached;
    std::vector<LayerReach> layers;
    std::int64_t layersHolding = 0;
    std::uint64_t heldBytes = 0; ///< its keys and values in all layers that hold it, of the batch
    std::int64_t leavesWindowsIn = 0; ///< tokens until the first window drops it; 0: none will

    bool operator==(const TokenReach&) const = default;
};

/// \param position  absolute
/// \param model     gives bytes a token; where it describes other layers, live bytes do
TokenReach reachOf(std::int64_t position, const CacheSnapshot& cache,
                   const ModelDescription& model);

/// Rows of the layer table: neighbours that say the same are one row.
struct ReachRow
{
    std::int64_t firstLayer = 0;
    std::int64_t lastLayer = 0;
    LayerReach reach;

    bool operator==(const ReachRow&) const = default;
};

/// Folds runs of at least three layers alike.
std::vector<ReachRow> foldedRows(const std::vector<LayerReach>& layers);

} // namespace kvscope
