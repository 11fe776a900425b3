#pragma once

#include <algorithm>
#include <cstdint>

namespace kvscope {

/// The capacity of a growing array that has to hold `needed` tokens, apart from any tensor: what it
/// is where that suffices, else max(needed, floor(1.5 * capacity) + 1), and never more than the
/// cap. The first array is as large as its first chunk. The caller has checked needed <= cap.
/// Source: GPT-OSS-Lite inference/generate.py, MixedKVCache, global layers.
inline std::int64_t grownCapacity(std::int64_t capacity, std::int64_t needed, std::int64_t cap)
{
    if (needed <= capacity)
        return capacity;
    if (capacity == 0)
        return needed;
    return std::min(std::max(needed, capacity + capacity / 2 + 1), cap);
}

/// Whether T more tokens after `length` pass the cap; safe for any T.
inline bool passesCap(std::int64_t length, std::int64_t numTokens, std::int64_t cap)
{
    return numTokens > cap - length;
}

} // namespace kvscope
