#pragma once

#include <cstdint>
#include <vector>

namespace kvscope {

/// One step of a growing array's capacity: a reallocation, or the first allocation (at length 0).
struct GrowthEvent
{
    std::int64_t atLength = 0;    ///< tokens held when the array grew
    std::int64_t newCapacity = 0; ///< tokens
    double copySeconds = 0.0;     ///< allocating and moving what was held

    bool operator==(const GrowthEvent&) const = default;
};

/// One layer's cache after a step. Sizes in tokens and bytes of keys and values together, all of
/// the batch.
struct LayerCacheState
{
    bool isWindowed = false;
    std::int64_t window = 0;   ///< W where windowed
    std::int64_t capacity = 0; ///< slots: of the ring, or allocated so far
    std::int64_t retained = 0; ///< positions that can be read
    std::int64_t firstPosition =
        0; ///< oldest retained position; position p of a ring lies in slot p % capacity
    std::uint64_t liveBytes = 0;
    std::uint64_t allocatedBytes = 0;
    std::vector<GrowthEvent> growth; ///< since the last reset, oldest first; empty where windowed

    /// The slot the next position is written to; only meaningful where windowed.
    std::int64_t head() const { return capacity > 0 ? (firstPosition + retained) % capacity : 0; }
    std::int64_t slack() const { return capacity - retained; }
};

/// All caches after one step. Filled by the engine thread, never changed once published, so any
/// number of views read it without a lock.
struct CacheSnapshot
{
    std::uint64_t step = 0;         ///< steps since the cache was made; a prefill chunk is one step
    std::int64_t contextLength = 0; ///< positions stored so far
    std::int64_t batch = 1;
    std::uint64_t liveBytes = 0;
    std::uint64_t allocatedBytes = 0;
    std::uint64_t peakGrowthBytes =
        0; ///< most bytes held twice while a growing array was copied, since the last reset
    std::uint64_t allGlobalBytes = 0; ///< arithmetic: live bytes if every layer kept every position
    std::vector<LayerCacheState> layers;
};

} // namespace kvscope
