#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace kvscope {

/// Keys and values of consecutive positions, both [B, Hkv, S, D], or in int8 and fp8 [B, Hkv, S, D
/// + 4] as scaled_rows.h has it; the last dimension is contiguous, the others may be strided. Keys
/// carry their rotation.
struct KVSegment
{
    at::Tensor keys;
    at::Tensor values;
    std::int64_t firstPosition = 0; ///< absolute position of index 0 along S

    std::int64_t length() const { return keys.size(2); }
};

/// The slots of a layer where they lie, both [B, Hkv, capacity, D] (int8 and fp8: D + 4), the last
/// two dimensions contiguous; position p lives in slot p % capacity. The arrays may be of different
/// lengths, so that heads are not equally far apart in both: an array that grew stays where the
/// other found no memory.
struct KVSlots
{
    at::Tensor keys;
    at::Tensor values;

    std::int64_t capacity() const { return keys.size(2); }
};

/// Everything the queries of one chunk may attend to, oldest first, positions consecutive across
/// segments. A ring is read in place as two segments; a chunk not yet stored is one more.
struct KVView
{
    std::array<KVSegment, 3> segments;
    std::size_t numSegments = 0;

    void add(KVSegment segment)
    {
        if (segment.length() > 0)
            segments.at(numSegments++) = std::move(segment);
    }
    std::int64_t firstPosition() const { return numSegments == 0 ? 0 : segments[0].firstPosition; }
    /// Readable positions S.
    std::int64_t length() const
    {
        std::int64_t total = 0;
        for (std::size_t i = 0; i < numSegments; ++i)
            total += segments[i].length();
        return total;
    }
};

} // namespace kvscope
