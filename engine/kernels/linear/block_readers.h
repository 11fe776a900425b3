#pragma once

#include "engine/checkpoint/storage_type.h"
#include "engine/kernels/linear/block_tables.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

// How each block format is taken apart: one definition for processors and GPUs, bit for bit what
// ggml has. Source of the layouts: ggml, ggml-common.h and ggml-quants.c.

#ifdef __CUDACC__
#include <cuda_fp16.h>
#define KVSCOPE_ANYWHERE __host__ __device__ inline
#else
#include <c10/util/Half.h>
#define KVSCOPE_ANYWHERE inline
#endif
#ifdef __CUDA_ARCH__ // so that the integers of a group stay in registers
#define KVSCOPE_UNROLL _Pragma("unroll")
#else
#define KVSCOPE_UNROLL
#endif

namespace kvscope {

/// Neighbouring weights that are taken apart at a time: a block of the small formats, an eighth of
/// a block of the K formats.
constexpr std::int64_t kGroup = 32;

/// The factors of a group, one for each half: weight i is
/// scales[i / 16] * integers[i] + offsets[i / 16].
struct GroupFactors
{
    float scales[2] = {};
    float offsets[2] = {}; ///< 0 but where hasOffsets()
};

/// Whether weights of a block format have an offset: Q4_1, Q5_1, Q2_K, Q4_K and Q5_K. Adding the
/// others' 0 would make +0 of -0.
KVSCOPE_ANYWHERE constexpr bool hasOffsets(StorageType type)
{
    return type == StorageType::Q4_1 || type == StorageType::Q5_1 || type == StorageType::Q2_K ||
           type == StorageType::Q4_K || type == StorageType::Q5_K;
}

KVSCOPE_ANYWHERE int byteAt(const std::byte* at)
{
    return static_cast<int>(*at);
}

KVSCOPE_ANYWHERE std::uint16_t loadU16(const std::byte* at)
{
    return static_cast<std::uint16_t>(byteAt(at) | byteAt(at + 1) << 8); // at any alignment
}

KVSCOPE_ANYWHERE float loadHalf(const std::byte* at)
{
#ifdef __CUDACC__
    return __half2float(__ushort_as_half(loadU16(at)));
#else
    return c10::detail::fp16_ieee_to_fp32_value(loadU16(at));
#endif
}

KVSCOPE_ANYWHERE float floatOfBits(std::uint32_t bits)
{
    float number = 0.0F;
    memcpy(&number, &bits, sizeof number);
    return number;
}

KVSCOPE_ANYWHERE float loadBFloat16(const std::byte* at)
{
    return floatOfBits(static_cast<std::uint32_t>(loadU16(at)) << 16);
}

/// Half of 2^(e - 127), an E8M0 scale; the smallest two are subnormal.
KVSCOPE_ANYWHERE float loadHalvedExponent(const std::byte* at)
{
    const auto exponent = static_cast<std::uint32_t>(*at);
    return floatOfBits(exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23);
}

/// The same scale, and offset where there is one, for all 32.
KVSCOPE_ANYWHERE GroupFactors uniform(float scale, float offset = 0.0F)
{
    return {{scale, scale}, {offset, offset}};
}

/// Eight entries of a table in one number: constants that GPUs can index.
KVSCOPE_ANYWHERE constexpr std::uint64_t packedEight(const std::int8_t (&table)[16], int first)
{
    std::uint64_t packed = 0;
    KVSCOPE_UNROLL
    for (int i = 0; i < 8; ++i)
        packed |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(table[first + i]))
                  << (8 * i);
    return packed;
}

/// Replaces nibbles by what they stand for. \param low, high  packedEight() of the table
KVSCOPE_ANYWHERE void lookUp(std::uint64_t low, std::uint64_t high, std::int8_t* integers)
{
    KVSCOPE_UNROLL
    for (int i = 0; i < kGroup; ++i) {
        const int nibble = integers[i];
        integers[i] = static_cast<std::int8_t>((nibble < 8 ? low : high) >> (nibble % 8 * 8));
    }
}

KVSCOPE_ANYWHERE void lookUpNonLinear(std::int8_t* integers)
{
    constexpr std::uint64_t kLow = packedEight(kNonLinear4, 0);
    constexpr std::uint64_t kHigh = packedEight(kNonLinear4, 8);
    lookUp(kLow, kHigh, integers);
}

KVSCOPE_ANYWHERE void copyBytes(const std::byte* from, std::int8_t* integers)
{
    KVSCOPE_UNROLL
    for (int i = 0; i < kGroup; ++i)
        integers[i] = static_cast<std::int8_t>(byteAt(from + i));
}

/// Element i is the low nibble of byte i, element i + 16 the high one.
KVSCOPE_ANYWHERE void readNibbles(const std::byte* pairs, std::int8_t* integers)
{
    KVSCOPE_UNROLL
    for (int i = 0; i < kGroup / 2; ++i) {
        integers[i] = static_cast<std::int8_t>(byteAt(pairs + i) & 15);
        integers[i + kGroup / 2] = static_cast<std::int8_t>(byteAt(pairs + i) >> 4);
    }
}

KVSCOPE_ANYWHERE void subtract(int zero, std::int8_t* integers)
{
    KVSCOPE_UNROLL
    for (int i = 0; i < kGroup; ++i)
        integers[i] = static_cast<std::int8_t>(integers[i] - zero);
}

/// Bit i of the four bytes is the fifth bit of element i.
KVSCOPE_ANYWHERE void addFifthBits(const std::byte* bits, std::int8_t* integers)
{
    KVSCOPE_UNROLL
    for (int i = 0; i < kGroup; ++i)
        integers[i] =
            static_cast<std::int8_t>(integers[i] + 16 * (byteAt(bits + i / 8) >> (i % 8) & 1));
}

/// A block of the small formats.
template <StorageType type>
KVSCOPE_ANYWHERE GroupFactors readBlock(const std::byte* block, std::int8_t* integers)
{
    if constexpr (type == StorageType::Q8_0) {
        copyBytes(block + 2, integers);
    } else if constexpr (type == StorageType::Q4_0) {
        readNibbles(block + 2, integers);
        subtract(8, integers);
    } else if constexpr (type == StorageType::Q4_1) {
        readNibbles(block + 4, integers);
        return uniform(loadHalf(block), loadHalf(block + 2));
    } else if constexpr (type == StorageType::Q5_0) {
        readNibbles(block + 6, integers);
        addFifthBits(block + 2, integers);
        subtract(16, integers);
    } else if constexpr (type == StorageType::Q5_1) {
        readNibbles(block + 8, integers);
        addFifthBits(block + 4, integers);
        return uniform(loadHalf(block), loadHalf(block + 2));
    } else if constexpr (type == StorageType::IQ4_NL) {
        readNibbles(block + 2, integers);
        lookUpNonLinear(integers);
    } else {
        static_assert(type == StorageType::MXFP4);
        constexpr std::uint64_t kLow = packedEight(kTwiceFloat4, 0);
        constexpr std::uint64_t kHigh = packedEight(kTwiceFloat4, 8);
        readNibbles(block + 1, integers);
        lookUp(kLow, kHigh, integers);
        return uniform(loadHalvedExponent(block));
    }
    return uniform(loadHalf(block));
}

} // namespace kvscope
