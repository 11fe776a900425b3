#pragma once

#include "engine/kernels/block_formats.h"

#include <c10/util/Half.h>

#include <bit>
#include <cstring>

// What the plain readers of block formats share; block_formats.cpp and k_block_formats.cpp only.

namespace kvscope {

inline int byteAt(const std::byte* at)
{
    return std::to_integer<int>(*at);
}

inline std::uint16_t loadU16(const std::byte* at)
{
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof(bits)); // weights may lie at any alignment
    return bits;
}

inline float loadHalf(const std::byte* at)
{
    return c10::detail::fp16_ieee_to_fp32_value(loadU16(at));
}

/// The same scale, and offset where there is one, for all 32.
inline GroupFactors uniform(float scale, float offset = 0.0F)
{
    return {{scale, scale}, {offset, offset}};
}

/// Element i is the low nibble of byte i, element i + 16 the high one.
inline void readNibbles(const std::byte* pairs, std::int8_t* integers)
{
    for (std::int64_t i = 0; i < kGroup / 2; ++i) {
        integers[i] = static_cast<std::int8_t>(byteAt(pairs + i) & 15);
        integers[i + kGroup / 2] = static_cast<std::int8_t>(byteAt(pairs + i) >> 4);
    }
}

/// Replaces nibbles by what they stand for. \param values  [16]
inline void lookUp(const std::int8_t* values, std::int8_t* integers)
{
    for (std::int64_t i = 0; i < kGroup; ++i)
        integers[i] = values[integers[i]];
}

/// Group `group` of a block of 256 of the K formats.
GroupFactors readKGroup(StorageType type, const std::byte* block, std::int64_t group,
                        std::int8_t* integers);

} // namespace kvscope
