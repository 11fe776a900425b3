#pragma once

// Numbers as integers of 16 bits in groups of 32, for products through VPDPWSSD, which multiplies
// and adds pairs of them at twice the rate of float32: of linear() (panel_integers.h) and of
// attention over many queries (attention_integers.h). For sources alone that are compiled for
// AVX-512 VNNI or AVX-VNNI.

#include "engine/kernels/simd_lanes.h"

namespace kvscope {
namespace {

constexpr int kGroup = 32; ///< numbers that share a scale
constexpr int kPairs = kGroup / 2;

/// Of two numbers that are multiplied the one becomes a multiple of 1 / 8256 of the largest in its
/// group, the other of 1 / 8128: as fine as sums of 32 products in 32 bits allow. 8128 is a
/// multiple of 8, 16 and 127, so that Q4_0, Q5_0 and Q8_0 as ggml rounds them lose nothing.
constexpr float kLargestLeft = 8256.0F;
constexpr float kLargestRight = 8128.0F;
static_assert(kGroup * static_cast<std::int64_t>(kLargestLeft) *
                  static_cast<std::int64_t>(kLargestRight) <
              (std::int64_t{1} << 31));

constexpr std::int32_t kInfinityBits = 0x7f800000;
/// Groups whose largest is below become 0: its inverse would have no float. In attention it is the
/// softmax's weights times their values' scales that are looked at, so values of 1e-26 count still.
constexpr float kSmallestLargest = 1e-30F;

/// Magnitudes compare as integers, among which a NaN is the largest and is not lost.
KVSCOPE_INLINE IntLanes magnitudeBits(Lanes x)
{
    return reinterpret_cast<IntLanes>(x) & 0x7fffffff;
}

KVSCOPE_INLINE IntLanes largerBits(IntLanes a, IntLanes b)
{
    return a > b ? a : b;
}

KVSCOPE_INLINE std::int32_t largestOf(IntLanes lanes)
{
#if defined(__AVX512F__)
    return _mm512_reduce_max_epi32(reinterpret_cast<__m512i>(lanes));
#else
    const auto eight = reinterpret_cast<__m256i>(lanes);
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return _mm_cvtsi128_si32(four);
#endif
}

/// To nearest even; what is no integer of 32 bits, NaN too, becomes -2^31.
KVSCOPE_INLINE IntLanes rounded(Lanes x)
{
#if defined(__AVX512F__)
    return reinterpret_cast<IntLanes>(_mm512_cvtps_epi32(x));
#else
    return reinterpret_cast<IntLanes>(_mm256_cvtps_epi32(x));
#endif
}

/// Two vectors of integers as 16 bits each, in order.
KVSCOPE_INLINE void storeShorts(std::int16_t* to, IntLanes first, IntLanes second)
{
#if defined(__AVX512F__)
    const __m256i shorts[] = {_mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(first)),
                              _mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(second))};
#else
    const __m256i packed =
        _mm256_packs_epi32(reinterpret_cast<__m256i>(first), reinterpret_cast<__m256i>(second));
    const __m256i shorts = _mm256_permute4x64_epi64(packed, 0xd8); // packing works within halves
#endif
    __builtin_memcpy(to, &shorts, sizeof shorts);
}

/// Of numbers that become integers of at most `most`: NaN where one is no finite one (all products
/// with the group then are), 0 where all are tiny. The inverse is 0 in both cases.
struct RowScale
{
    float scale = 0.0F;
    float inverse = 0.0F;

    /// \param largest  magnitudeBits() of the largest
    KVSCOPE_INLINE RowScale(std::int32_t largest, float most)
    {
        float magnitude;
        __builtin_memcpy(&magnitude, &largest, sizeof largest);
        if (largest >= kInfinityBits) {
            scale = __builtin_nanf("");
        } else if (magnitude >= kSmallestLargest) {
            scale = magnitude / most;
            inverse = most / magnitude;
        }
    }
};

/// Rounds a group that lies in a row. \returns its scale
/// \param count  numbers that are there, others count as 0
KVSCOPE_INLINE float roundGroup(const float* x, std::int64_t count, float most, std::int16_t* to)
{
    constexpr int kVectors = kGroup / kLanes;
    Lanes in[kVectors];
    IntLanes largest{};
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
        const std::int64_t left = count - i * kLanes;
        in[i] = left > 0 ? loadUpTo(x + i * kLanes, left) : Lanes{};
        largest = largerBits(magnitudeBits(in[i]), largest);
    }
    const RowScale scale(largestOf(largest), most);
    const Lanes inverse = broadcast(scale.inverse);
#pragma GCC unroll 2
    for (int i = 0; i < kVectors; i += 2)
        storeShorts(to + i * kLanes, rounded(in[i] * inverse), rounded(in[i + 1] * inverse));
    return scale.scale;
}

/// RowScale of groups that lie in columns, one in each lane.
struct ColumnScales
{
    Lanes scale;
    Lanes inverse;

    /// \param largest  magnitudeBits() of each column's largest
    KVSCOPE_INLINE ColumnScales(IntLanes largest, float most)
    {
        const auto magnitude = reinterpret_cast<Lanes>(largest);
        const Lanes notANumber = broadcast(__builtin_nanf(""));
        const Lanes zero{};
        const Lanes finite = magnitude < kSmallestLargest ? zero : magnitude / most;
        const auto isFinite = largest < kInfinityBits;
        scale = isFinite ? finite : notANumber;
        inverse = (magnitude < kSmallestLargest) | ~isFinite ? zero : most / magnitude;
    }
};

/// Two neighbours of each column, rounded, as a pair: the first in the low half. Its bits are a
/// float's, as all pairs are moved.
KVSCOPE_INLINE Lanes pairOf(Lanes first, Lanes second)
{
    return reinterpret_cast<Lanes>((rounded(first) & 0xffff) | (rounded(second) << 16));
}

/// As integers: what a pair looks like as a float must not matter.
KVSCOPE_INLINE Lanes broadcastPair(const float* pair)
{
    std::int32_t bits;
    __builtin_memcpy(&bits, pair, sizeof bits);
#if defined(__AVX512F__)
    return reinterpret_cast<Lanes>(_mm512_set1_epi32(bits));
#else
    return reinterpret_cast<Lanes>(_mm256_set1_epi32(bits));
#endif
}

/// sums + the products of both integers of each pair.
KVSCOPE_INLINE IntLanes multiplyPairs(IntLanes sums, Lanes a, Lanes b)
{
#if defined(__AVX512F__)
    return reinterpret_cast<IntLanes>(_mm512_dpwssd_epi32(reinterpret_cast<__m512i>(sums),
                                                          reinterpret_cast<__m512i>(a),
                                                          reinterpret_cast<__m512i>(b)));
#else
    return reinterpret_cast<IntLanes>(_mm256_dpwssd_avx_epi32(reinterpret_cast<__m256i>(sums),
                                                              reinterpret_cast<__m256i>(a),
                                                              reinterpret_cast<__m256i>(b)));
#endif
}

KVSCOPE_INLINE Lanes toFloats(IntLanes integers)
{
    return __builtin_convertvector(integers, Lanes);
}

/// a * b + c, rounded once whatever the compiler does with the loop around it, so that a row has
/// the same bits among others and alone.
KVSCOPE_INLINE Lanes multiplyAdd(Lanes a, Lanes b, Lanes c)
{
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#else
    return _mm256_fmadd_ps(a, b, c);
#endif
}

} // namespace
} // namespace kvscope
