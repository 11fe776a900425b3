#pragma once

#include "engine/kernels/linear/block_tables.h"
#include "engine/kernels/linear/linear_avx2_lanes.h"

#include <cstdint>
#include <cstring>

// How each block format of 32 weights is unpacked; for the sources beside it alone. Everything is
// `static` or in an unnamed namespace, see linear_kernels.h.
//
// A format has: kBytes of a block; kHasOffset; kZero, taken from every integer; kIsSigned, whether
// integers are signed before that; bytes(block), the 32 integers in order, 8 bits each; its factors
// (anything where there is no offset).

namespace kvscope::avx2 {
namespace {

constexpr std::int64_t kGroupSize = 32;
constexpr int kGroups = 8; // that the product takes at a time

#define KVSCOPE_UNPACK [[gnu::always_inline]] static inline

KVSCOPE_UNPACK float loadHalf(const std::byte* at)
{
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof(bits));
    return _cvtsh_ss(bits);
}

KVSCOPE_UNPACK int loadInt(const std::byte* at)
{
    int bits = 0;
    std::memcpy(&bits, at, sizeof(bits));
    return bits;
}

KVSCOPE_UNPACK __m128i load16Bytes(const void* at)
{
    return _mm_loadu_si128(static_cast<const __m128i*>(at));
}

KVSCOPE_UNPACK __m256i load32Bytes(const void* at)
{
    return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}

/// 32 integers of 16 bits in the order of quantizeRowEvenOdd(): 0, 2, ... 30, then 1, 3, ... 31.
struct Integers
{
    __m256i first;
    __m256i second;
};

/// Bytes as 16-bit integers; in that order it takes no shuffle.
template <bool IsSigned, int Zero>
KVSCOPE_UNPACK Integers splitEvenOdd(__m256i bytes)
{
    __m256i even;
    __m256i odd;
    if constexpr (IsSigned) {
        even = _mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8);
        odd = _mm256_srai_epi16(bytes, 8);
    } else {
        even = _mm256_and_si256(bytes, _mm256_set1_epi16(0xff));
        odd = _mm256_srli_epi16(bytes, 8);
    }
    if constexpr (Zero != 0) {
        even = _mm256_sub_epi16(even, _mm256_set1_epi16(Zero));
        odd = _mm256_sub_epi16(odd, _mm256_set1_epi16(Zero));
    }
    return {even, odd};
}

/// Byte i holds element i in its low and i + 16 in its high nibble.
KVSCOPE_UNPACK __m256i loadNibbles(const std::byte* at)
{
    // A copy in each half of the register, the upper one shifted down.
    const __m256i copies = _mm256_broadcastsi128_si256(load16Bytes(at));
    const __m256i lowered = _mm256_srlv_epi32(copies, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4));
    return _mm256_and_si256(lowered, _mm256_set1_epi8(15));
}

/// What nibbles stand for. \param values  16 bytes
KVSCOPE_UNPACK __m256i lookUpNibbles(__m256i nibbles, const std::int8_t* values)
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load16Bytes(values)), nibbles);
}

/// 16 in byte i where bit i of the four bytes is set.
KVSCOPE_UNPACK __m256i loadFifthBits(const std::byte* at)
{
    const __m256i bits = _mm256_set1_epi32(loadInt(at));
    const __m256i byteOf =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bitOf = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201));
    const __m256i isSet =
        _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(bits, byteOf), bitOf), bitOf);
    return _mm256_and_si256(isSet, _mm256_set1_epi8(16));
}

/// Blocks that begin with a float16 scale, and a float16 offset where they have one.
struct HalfFactors
{
    KVSCOPE_UNPACK float scale(const std::byte* block) { return loadHalf(block); }
    KVSCOPE_UNPACK float offset(const std::byte* block) { return loadHalf(block + 2); }
    /// Of eight blocks. \param first, second  the first four bytes of four blocks each
    KVSCOPE_UNPACK __m256 scales(__m128i first, __m128i second)
    {
        const __m128i low = _mm_set1_epi32(0xffff);
        return _mm256_cvtph_ps(
            _mm_packus_epi32(_mm_and_si128(first, low), _mm_and_si128(second, low)));
    }
    KVSCOPE_UNPACK __m256 offsets(__m128i first, __m128i second)
    {
        return _mm256_cvtph_ps(
            _mm_packus_epi32(_mm_srli_epi32(first, 16), _mm_srli_epi32(second, 16)));
    }
};

struct FormatQ80 : HalfFactors
{
    static constexpr std::int64_t kBytes = 34;
    static constexpr bool kHasOffset = false;
    static constexpr bool kIsSigned = true;
    static constexpr int kZero = 0;
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block) { return load32Bytes(block + 2); }
};

struct FormatQ40 : HalfFactors
{
    static constexpr std::int64_t kBytes = 18;
    static constexpr bool kHasOffset = false;
    static constexpr bool kIsSigned = false;
    static constexpr int kZero = 8;
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block) { return loadNibbles(block + 2); }
};

struct FormatQ41 : HalfFactors
{
    static constexpr std::int64_t kBytes = 20;
    static constexpr bool kHasOffset = true;
    static constexpr bool kIsSigned = false;
    static constexpr int kZero = 0;
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block) { return loadNibbles(block + 4); }
};

struct FormatQ50 : HalfFactors
{
    static constexpr std::int64_t kBytes = 22;
    static constexpr bool kHasOffset = false;
    static constexpr bool kIsSigned = false;
    static constexpr int kZero = 16;
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block)
    {
        return _mm256_or_si256(loadNibbles(block + 6), loadFifthBits(block + 2));
    }
};

struct FormatQ51 : HalfFactors
{
    static constexpr std::int64_t kBytes = 24;
    static constexpr bool kHasOffset = true;
    static constexpr bool kIsSigned = false;
    static constexpr int kZero = 0;
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block)
    {
        return _mm256_or_si256(loadNibbles(block + 8), loadFifthBits(block + 4));
    }
};

struct FormatIq4Nl : HalfFactors
{
    static constexpr std::int64_t kBytes = 18;
    static constexpr bool kHasOffset = false;
    static constexpr bool kIsSigned = true;
    static constexpr int kZero = 0;
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block)
    {
        return lookUpNibbles(loadNibbles(block + 2), kNonLinear4);
    }
};

/// Half of 2^(e - 127), e being the first byte; the smallest two are subnormal.
struct FormatMxfp4
{
    static constexpr std::int64_t kBytes = 17;
    static constexpr bool kHasOffset = false;
    static constexpr bool kIsSigned = true;
    static constexpr int kZero = 0;
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block)
    {
        return lookUpNibbles(loadNibbles(block + 1), kTwiceFloat4);
    }
    KVSCOPE_UNPACK __m256 scales(__m128i first, __m128i second)
    {
        const __m256i exponent =
            _mm256_and_si256(_mm256_set_m128i(second, first), _mm256_set1_epi32(0xff));
        const __m256i normal =
            _mm256_slli_epi32(_mm256_sub_epi32(exponent, _mm256_set1_epi32(1)), 23);
        const __m256i subnormal = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), exponent);
        const __m256i isSubnormal = _mm256_cmpgt_epi32(_mm256_set1_epi32(2), exponent);
        return _mm256_castsi256_ps(_mm256_blendv_epi8(normal, subnormal, isSubnormal));
    }
    KVSCOPE_UNPACK float scale(const std::byte* block)
    {
        const __m128i bytes = _mm_cvtsi32_si128(loadInt(block));
        return _mm256_cvtss_f32(scales(bytes, bytes));
    }
    KVSCOPE_UNPACK float offset(const std::byte* /*block*/) { return 0.0F; }
};

} // namespace
} // namespace kvscope::avx2
