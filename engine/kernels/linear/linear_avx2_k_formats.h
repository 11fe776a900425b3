#pragma once

#include "engine/kernels/linear/linear_avx2_formats.h"

// How each block format of 256 weights is unpacked, in eight groups of 32; for
// linear_avx2_k_blocks.cpp and linear_avx512_blocks.cpp alone.
//
// Beyond what the small formats have: kHalves, whether the 16 halves of groups have scales of their
// own, or the 8 groups; readFactors(block, scales, offsets), 8 or 16 of each (offsets only where
// kHasOffset); bytes(block, group); and where kHalves, multiplier(block), the one factor that they
// share, and readHalves(block), the 16 integers that multiply it; kMayEndEarly, whether a row may
// end within eight groups, which those of blocks of 256 do not. Loops over groups are unrolled,
// so that `group` is a constant and shifts by it are instructions.

namespace kvscope::avx2 {
namespace {

/// Bit `bit` of every byte moved to bit `to`; the others must then be masked out.
KVSCOPE_UNPACK __m256i moveBit(__m256i bytes, int bit, int to)
{
    return bit < to ? _mm256_slli_epi16(bytes, to - bit) : _mm256_srli_epi16(bytes, bit - to);
}

/// Low nibbles of 32 bytes are group 2 c, high ones group 2 c + 1.
KVSCOPE_UNPACK __m256i loadSideNibbles(const std::byte* at, int group)
{
    const __m256i pairs = load32Bytes(at + group / 2 * kGroupSize);
    return _mm256_and_si256(group % 2 == 0 ? pairs : _mm256_srli_epi16(pairs, 4),
                            _mm256_set1_epi8(15));
}

/// Bits [2 j, 2 j + 2) of 32 bytes are group 4 c + j.
KVSCOPE_UNPACK __m256i loadPairsOfBits(const std::byte* at, int group)
{
    const __m256i bytes = load32Bytes(at + group / 4 * kGroupSize);
    return _mm256_and_si256(_mm256_srli_epi16(bytes, group % 4 * 2), _mm256_set1_epi8(3));
}

/// factor * each of 8 bytes, which are signed.
KVSCOPE_UNPACK void storeProducts(__m128i bytes, float factor, float* out)
{
    _mm256_storeu_ps(out, _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
                                        _mm256_set1_ps(factor)));
}

/// The same of 16.
KVSCOPE_UNPACK void storeHalves(__m128i bytes, float factor, float* out)
{
    storeProducts(bytes, factor, out);
    storeProducts(_mm_unpackhi_epi64(bytes, bytes), factor, out + 8);
}

/// Q4_K and Q5_K: d, m, and eight pairs of six bits in 12 bytes. Pairs 0 to 3 have bytes of their
/// own, whose top bits are those of pairs 4 to 7; four bytes at a time.
struct PackedFactors
{
    KVSCOPE_UNPACK void readFactors(const std::byte* block, float* scales, float* offsets)
    {
        const auto first = static_cast<std::uint32_t>(loadInt(block + 4));
        const auto second = static_cast<std::uint32_t>(loadInt(block + 8));
        const auto third = static_cast<std::uint32_t>(loadInt(block + 12));
        const std::uint64_t highScales = (third & 0x0f0f0f0f) | (first >> 2 & 0x30303030);
        const std::uint64_t highOffsets = (third >> 4 & 0x0f0f0f0f) | (second >> 2 & 0x30303030);
        const std::uint64_t packedScales = (first & 0x3f3f3f3f) | highScales << 32;
        const std::uint64_t packedOffsets = (second & 0x3f3f3f3f) | highOffsets << 32;
        storeProducts(_mm_cvtsi64_si128(static_cast<long long>(packedScales)), loadHalf(block),
                      scales);
        storeProducts(_mm_cvtsi64_si128(static_cast<long long>(packedOffsets)),
                      -loadHalf(block + 2), offsets);
    }
};

struct FormatQ4K : PackedFactors
{
    static constexpr std::int64_t kBytes = 144;
    static constexpr bool kHasOffset = true;
    static constexpr bool kIsSigned = false;
    static constexpr int kZero = 0;
    static constexpr bool kMayEndEarly = false;
    static constexpr bool kHalves = false;
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block, int group)
    {
        return loadSideNibbles(block + 16, group);
    }
};

struct FormatQ5K : PackedFactors
{
    static constexpr std::int64_t kBytes = 176;
    static constexpr bool kHasOffset = true;
    static constexpr bool kIsSigned = false;
    static constexpr int kZero = 0;
    static constexpr bool kMayEndEarly = false;
    static constexpr bool kHalves = false;
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block, int group)
    {
        const __m256i fifth =
            _mm256_and_si256(moveBit(load32Bytes(block + 16), group, 4), _mm256_set1_epi8(16));
        return _mm256_or_si256(loadSideNibbles(block + 48, group), fifth);
    }
};

struct FormatQ8K
{
    static constexpr std::int64_t kBytes = 292;
    static constexpr bool kHasOffset = false;
    static constexpr bool kIsSigned = true;
    static constexpr int kZero = 0;
    static constexpr bool kMayEndEarly = false;
    static constexpr bool kHalves = false;
    KVSCOPE_UNPACK void readFactors(const std::byte* block, float* scales, float* /*offsets*/)
    {
        _mm256_storeu_ps(scales,
                         _mm256_castsi256_ps(_mm256_set1_epi32(loadInt(block)))); // float32
    }
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block, int group)
    {
        return load32Bytes(block + 4 + group * kGroupSize);
    }
};

struct FormatIq4Xs
{
    static constexpr std::int64_t kBytes = 136;
    static constexpr bool kHasOffset = false;
    static constexpr bool kIsSigned = true;
    static constexpr int kZero = 0;
    static constexpr bool kMayEndEarly = false;
    static constexpr bool kHalves = false;
    KVSCOPE_UNPACK void readFactors(const std::byte* block, float* scales, float* /*offsets*/)
    {
        const __m256i shift = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        const __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32(loadInt(block + 4)), shift);
        // Bytes 2 and 3 hold the two high bits of each.
        const __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32(loadInt(block)),
                                               _mm256_setr_epi32(16, 18, 20, 22, 24, 26, 28, 30));
        const __m256i joined =
            _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)),
                            _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4));
        const __m256 integers = _mm256_cvtepi32_ps(_mm256_sub_epi32(joined, _mm256_set1_epi32(32)));
        _mm256_storeu_ps(scales, _mm256_mul_ps(integers, _mm256_set1_ps(loadHalf(block))));
    }
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block, int group)
    {
        return lookUpNibbles(loadNibbles(block + 8 + group * kGroupSize / 2), kNonLinear4);
    }
};

struct FormatQ6K
{
    static constexpr std::int64_t kBytes = 210;
    static constexpr bool kHasOffset = false;
    static constexpr bool kIsSigned = false;
    static constexpr int kZero = 32;
    static constexpr bool kMayEndEarly = false;
    static constexpr bool kHalves = true;
    KVSCOPE_UNPACK float multiplier(const std::byte* block) { return loadHalf(block + 208); }
    KVSCOPE_UNPACK __m128i readHalves(const std::byte* block) { return load16Bytes(block + 192); }
    KVSCOPE_UNPACK void readFactors(const std::byte* block, float* scales, float* /*offsets*/)
    {
        storeHalves(readHalves(block), multiplier(block), scales);
    }
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block, int group)
    {
        // In every 128: low nibbles of 64 bytes are groups 0 and 1, high ones 2 and 3.
        const __m256i pairs = load32Bytes(block + group / 4 * 64 + group % 2 * kGroupSize);
        const __m256i low = group % 4 < 2 ? pairs : _mm256_srli_epi16(pairs, 4);
        const __m256i high = load32Bytes(block + 128 + group / 4 * kGroupSize);
        return _mm256_or_si256(
            _mm256_and_si256(low, _mm256_set1_epi8(15)),
            _mm256_and_si256(moveBit(high, group % 4 * 2, 4), _mm256_set1_epi8(0x30)));
    }
};

struct FormatQ3K
{
    static constexpr std::int64_t kBytes = 110;
    static constexpr bool kHasOffset = false;
    static constexpr bool kIsSigned = false;
    static constexpr int kZero = 4;
    static constexpr bool kMayEndEarly = false;
    static constexpr bool kHalves = true;
    KVSCOPE_UNPACK float multiplier(const std::byte* block) { return loadHalf(block + 108); }
    KVSCOPE_UNPACK __m128i readHalves(const std::byte* block)
    {
        // Four bits in the nibbles of bytes 0 to 7, two in bytes 8 to 11: of number i the pair i /
        // 4 of byte 8 + i % 4. Loaded two bytes early, as the block ends 14 behind byte 0.
        const __m128i packed = _mm_srli_si128(load16Bytes(block + 94), 2);
        const __m128i nibbles = _mm_unpacklo_epi64(packed, _mm_srli_epi16(packed, 4));
        const __m128i pairs =
            _mm_srlv_epi32(_mm_shuffle_epi32(packed, 0xaa), _mm_setr_epi32(0, 2, 4, 6));
        const __m128i joined =
            _mm_or_si128(_mm_and_si128(nibbles, _mm_set1_epi8(15)),
                         _mm_slli_epi16(_mm_and_si128(pairs, _mm_set1_epi8(3)), 4));
        return _mm_sub_epi8(joined, _mm_set1_epi8(32));
    }
    KVSCOPE_UNPACK void readFactors(const std::byte* block, float* scales, float* /*offsets*/)
    {
        storeHalves(readHalves(block), multiplier(block), scales);
    }
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block, int group)
    {
        const __m256i third =
            _mm256_and_si256(moveBit(load32Bytes(block), group, 2), _mm256_set1_epi8(4));
        return _mm256_or_si256(loadPairsOfBits(block + 32, group), third);
    }
};

struct FormatQ2K
{
    static constexpr std::int64_t kBytes = 84;
    static constexpr bool kHasOffset = true;
    static constexpr bool kIsSigned = false;
    static constexpr int kZero = 0;
    static constexpr bool kMayEndEarly = false;
    static constexpr bool kHalves = true;
    KVSCOPE_UNPACK float multiplier(const std::byte* block) { return loadHalf(block + 80); }
    KVSCOPE_UNPACK __m128i readHalves(const std::byte* block)
    {
        return _mm_and_si128(load16Bytes(block), _mm_set1_epi8(15));
    }
    KVSCOPE_UNPACK float offsetMultiplier(const std::byte* block) { return -loadHalf(block + 82); }
    KVSCOPE_UNPACK __m128i readHalfOffsets(const std::byte* block)
    {
        return _mm_and_si128(_mm_srli_epi16(load16Bytes(block), 4), _mm_set1_epi8(15));
    }
    KVSCOPE_UNPACK void readFactors(const std::byte* block, float* scales, float* offsets)
    {
        storeHalves(readHalves(block), multiplier(block), scales);
        storeHalves(readHalfOffsets(block), offsetMultiplier(block), offsets);
    }
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block, int group)
    {
        return loadPairsOfBits(block + 16, group);
    }
};

} // namespace
} // namespace kvscope::avx2
