#pragma once

#include "engine/kernels/linear/weight_matrix.h"

#include <cstdint>

namespace kvscope {

/// How a DecodeStep multiplies, and what it reads past the processor's caches.
struct StepSettings
{
    Precision precision = Precision::Fast;
    std::uint64_t weightBytes = 0;    ///< that a step reads
    std::uint64_t lastCacheBytes = 0; ///< lastCacheBytes() of the threads

    /// RowProduct::isStreamed of all weights.
    bool streamsWeights() const { return weightBytes > lastCacheBytes; }
    /// AttentionSettings::isStreamed: the cache gives way to weights where both do not fit.
    bool streamsCache(std::uint64_t cacheBytes) const
    {
        return weightBytes + cacheBytes > lastCacheBytes;
    }
};

} // namespace kvscope
