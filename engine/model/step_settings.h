#pragma once

#include "engine/kernels/weight_matrix.h"

#include <cstdint>

namespace kvscope {

/// How a DecodeStep multiplies, and what it reads past the processor's caches.
struct StepSettings
{
    Precision layers = Precision::Fast;
    Precision deciding = Precision::FastSums; ///< products that decide between tokens or experts
    std::uint64_t weightBytes = 0;            ///< that a step reads
    std::uint64_t lastCacheBytes = 0;         ///< lastCacheBytes() of the threads

    /// RowProduct::isStreamed of all weights.
    bool streamsWeights() const { return weightBytes > lastCacheBytes; }
    /// AttentionSettings::isStreamed: the cache gives way to weights where both do not fit.
    bool streamsCache(std::uint64_t cacheBytes) const
    {
        return weightBytes + cacheBytes > lastCacheBytes;
    }
};

} // namespace kvscope
