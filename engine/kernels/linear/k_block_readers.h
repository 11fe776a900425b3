#pragma once

#include "engine/kernels/linear/block_readers.h"

// The same for the formats of 256 weights a block; `group` is one of its eight.

namespace kvscope {

/// Two bits of every element, in fours: bits [2 j, 2 j + 2) of bytes [32 c, 32 c + 32) are group
/// 4 c + j.
KVSCOPE_ANYWHERE void readPairsOfBits(const std::byte* bytes, int group, std::int8_t* integers)
{
    const std::byte* from = bytes + group / 4 * kGroup;
    KVSCOPE_UNROLL
    for (int i = 0; i < kGroup; ++i)
        integers[i] = static_cast<std::int8_t>(byteAt(from + i) >> (group % 4 * 2) & 3);
}

/// One bit of every element: bit `group` of byte i is that of element i.
KVSCOPE_ANYWHERE int bitAt(const std::byte* bytes, int group, int i)
{
    return byteAt(bytes + i) >> group & 1;
}

/// Nibbles of two groups lie side by side: low ones of bytes [32 c, 32 c + 32) are group 2 c, high
/// ones the next.
KVSCOPE_ANYWHERE void readSideNibbles(const std::byte* bytes, int group, std::int8_t* integers)
{
    const std::byte* from = bytes + group / 2 * kGroup;
    KVSCOPE_UNROLL
    for (int i = 0; i < kGroup; ++i)
        integers[i] = static_cast<std::int8_t>(byteAt(from + i) >> (group % 2 * 4) & 15);
}

KVSCOPE_ANYWHERE GroupFactors readQ2K(const std::byte* block, int group, std::int8_t* integers)
{
    const float d = loadHalf(block + 80);
    const float m = loadHalf(block + 82);
    readPairsOfBits(block + 16, group, integers);
    GroupFactors factors;
    KVSCOPE_UNROLL
    for (int half = 0; half < 2; ++half) {
        const int pair = byteAt(block + 2 * group + half);
        factors.scales[half] = d * static_cast<float>(pair & 15);
        factors.offsets[half] = -(m * static_cast<float>(pair >> 4));
    }
    return factors;
}

/// Scale i of 16: four bits in the nibbles of bytes 0 to 7, two in bytes 8 to 11.
KVSCOPE_ANYWHERE int scaleQ3K(const std::byte* scales, int i)
{
    const int low = byteAt(scales + i % 8) >> (i / 8 * 4) & 15;
    const int high = byteAt(scales + 8 + i % 4) >> (i / 4 * 2) & 3;
    return (low | high << 4) - 32;
}

KVSCOPE_ANYWHERE GroupFactors readQ3K(const std::byte* block, int group, std::int8_t* integers)
{
    const float d = loadHalf(block + 108);
    readPairsOfBits(block + 32, group, integers);
    KVSCOPE_UNROLL
    for (int i = 0; i < kGroup; ++i)
        integers[i] = static_cast<std::int8_t>(integers[i] - 4 * (1 - bitAt(block, group, i)));
    GroupFactors factors;
    KVSCOPE_UNROLL
    for (int half = 0; half < 2; ++half)
        factors.scales[half] = d * static_cast<float>(scaleQ3K(block + 96, 2 * group + half));
    return factors;
}

/// d, m and the 12 bytes of 8 pairs of six bits that Q4_K and Q5_K begin with. Pairs 0 to 3 have
/// bytes of their own, whose top bits are those of pairs 4 to 7.
KVSCOPE_ANYWHERE GroupFactors readPackedFactors(const std::byte* block, int group)
{
    const std::byte* packed = block + 4;
    int scale = 0;
    int offset = 0;
    if (group < 4) {
        scale = byteAt(packed + group) & 63;
        offset = byteAt(packed + group + 4) & 63;
    } else {
        const int low = byteAt(packed + group + 4);
        scale = (low & 15) | (byteAt(packed + group - 4) >> 6) << 4;
        offset = low >> 4 | (byteAt(packed + group) >> 6) << 4;
    }
    return uniform(loadHalf(block) * static_cast<float>(scale),
                   -(loadHalf(block + 2) * static_cast<float>(offset)));
}

KVSCOPE_ANYWHERE GroupFactors readQ4K(const std::byte* block, int group, std::int8_t* integers)
{
    readSideNibbles(block + 16, group, integers);
    return readPackedFactors(block, group);
}

KVSCOPE_ANYWHERE GroupFactors readQ5K(const std::byte* block, int group, std::int8_t* integers)
{
    readSideNibbles(block + 48, group, integers);
    KVSCOPE_UNROLL
    for (int i = 0; i < kGroup; ++i)
        integers[i] = static_cast<std::int8_t>(integers[i] | bitAt(block + 16, group, i) << 4);
    return readPackedFactors(block, group);
}

/// In every 128: low nibbles of bytes [0, 64) are groups 0 and 1, high ones 2 and 3.
KVSCOPE_ANYWHERE GroupFactors readQ6K(const std::byte* block, int group, std::int8_t* integers)
{
    const std::byte* low = block + group / 4 * 64 + group % 2 * kGroup;
    readPairsOfBits(block + 128, group, integers);
    KVSCOPE_UNROLL
    for (int i = 0; i < kGroup; ++i) {
        const int nibble = byteAt(low + i) >> (group % 4 / 2 * 4) & 15;
        integers[i] = static_cast<std::int8_t>((nibble | integers[i] << 4) - 32);
    }
    const float d = loadHalf(block + 208);
    GroupFactors factors;
    KVSCOPE_UNROLL
    for (int half = 0; half < 2; ++half)
        factors.scales[half] =
            d * static_cast<float>(static_cast<std::int8_t>(block[192 + 2 * group + half]));
    return factors;
}

KVSCOPE_ANYWHERE GroupFactors readQ8K(const std::byte* block, int group, std::int8_t* integers)
{
    float d = 0.0F;
    memcpy(&d, block, sizeof d); // at any alignment
    copyBytes(block + 4 + group * kGroup, integers);
    return uniform(d);
}

KVSCOPE_ANYWHERE GroupFactors readIq4Xs(const std::byte* block, int group, std::int8_t* integers)
{
    readNibbles(block + 8 + group * (kGroup / 2), integers);
    lookUpNonLinear(integers);
    const int low = byteAt(block + 4 + group / 2) >> (group % 2 * 4) & 15;
    const int high = loadU16(block + 2) >> (2 * group) & 3;
    return uniform(loadHalf(block) * static_cast<float>((low | high << 4) - 32));
}

/// Group `group` of a block of 256.
template <StorageType type>
KVSCOPE_ANYWHERE GroupFactors readKGroup(const std::byte* block, int group, std::int8_t* integers)
{
    if constexpr (type == StorageType::Q2_K) {
        return readQ2K(block, group, integers);
    } else if constexpr (type == StorageType::Q3_K) {
        return readQ3K(block, group, integers);
    } else if constexpr (type == StorageType::Q4_K) {
        return readQ4K(block, group, integers);
    } else if constexpr (type == StorageType::Q5_K) {
        return readQ5K(block, group, integers);
    } else if constexpr (type == StorageType::Q6_K) {
        return readQ6K(block, group, integers);
    } else if constexpr (type == StorageType::Q8_K) {
        return readQ8K(block, group, integers);
    } else {
        static_assert(type == StorageType::IQ4_XS);
        return readIq4Xs(block, group, integers);
    }
}

} // namespace kvscope
