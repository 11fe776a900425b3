#pragma once

// The loops of panel_integers.h for vectors of 8 or 16 floats; included by panel_integers_avx2.cpp
// and panel_integers_avx512.cpp alone.

#include "engine/kernels/linear/linear_kernels.h"
#include "engine/kernels/linear/panel_kernels.h"
#include "engine/kernels/linear/transpose_eight.h"
#include "engine/kernels/simd_lanes.h"

namespace kvscope {
namespace {

constexpr int kPanelWidth = 2 * kLanes;
/// As in panel_simd.h: 12 or 24 sums, two vectors of weights and one of x.
constexpr int kTileRows = kLanes == 16 ? 12 : 6;
static_assert(kPanelWidth <= kMostPanelWidth && kTileRows <= kMostTileRows);

constexpr int kGroup = 32; ///< columns that have a scale
constexpr int kPairs = kGroup / 2;
constexpr float kLargestWeight = 2032.0F;
static_assert(kGroup * kLargestWeight * kLargestQuantized < 0x1p31F);

// A pair of integers is moved as a float is. Of each group of columns a tile of x has the pairs of
// each row, then the rows' scales; there is room for more (PanelKernels::prepareRows). A panel has
// the first pair of each row of W, the second of each, and so on, then the rows' scales.
constexpr std::int64_t kTileFloats = kGroup * kTileRows;
constexpr std::int64_t kPanelFloats = (kPairs + 1) * kPanelWidth;

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

/// Two vectors of floats as integers of 16 bits, rounded to nearest even, in order.
KVSCOPE_INLINE void storeRounded(std::int16_t* to, Lanes first, Lanes second)
{
#if defined(__AVX512F__)
    const __m256i rounded[] = {_mm512_cvtepi32_epi16(_mm512_cvtps_epi32(first)),
                               _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(second))};
#else
    const __m256i packed =
        _mm256_packs_epi32(_mm256_cvtps_epi32(first), _mm256_cvtps_epi32(second));
    const __m256i rounded = _mm256_permute4x64_epi64(packed, 0xd8); // packing works within halves
#endif
    __builtin_memcpy(to, &rounded, sizeof rounded);
}

/// Rounds a group to multiples of its scale, which is returned: QuantizeRow says what becomes of
/// NaN, infinities and tiny numbers. \param count  columns that are there, others count as 0
KVSCOPE_INLINE float roundGroup(const float* x, std::int64_t count, float most, std::int16_t* to)
{
    constexpr int kVectors = kGroup / kLanes;
    Lanes in[kVectors];
    IntLanes largest{};
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
        const std::int64_t left = count - i * kLanes;
        in[i] = left > 0 ? loadUpTo(x + i * kLanes, left) : Lanes{};
        // As integers, in whose order a NaN is the largest and is not lost.
        const IntLanes magnitude = reinterpret_cast<IntLanes>(in[i]) & 0x7fffffff;
        largest = magnitude > largest ? magnitude : largest;
    }
    const std::int32_t bits = largestOf(largest);
    float magnitude;
    __builtin_memcpy(&magnitude, &bits, sizeof bits);
    constexpr std::int32_t kInfinityBits = 0x7f800000;
    if (bits >= kInfinityBits || magnitude < kSmallestQuantizable) {
        __builtin_memset(to, 0, kGroup * sizeof *to);
        return bits >= kInfinityBits ? __builtin_nanf("") : 0.0F;
    }
    const Lanes inverse = broadcast(most / magnitude);
#pragma GCC unroll 2
    for (int i = 0; i < kVectors; i += 2)
        storeRounded(to + i * kLanes, in[i] * inverse, in[i + 1] * inverse);
    return magnitude / most;
}

void prepareIntegerRows(const float* x, int rows, std::int64_t cols, float* prepared)
{
    for (std::int64_t col = 0; col < cols; col += kGroup, prepared += kTileFloats)
        for (int r = 0; r < rows; ++r) {
            std::int16_t rounded[kGroup];
            prepared[kPairs * kTileRows + r] =
                roundGroup(x + r * cols + col, cols - col, kLargestQuantized, rounded);
            __builtin_memcpy(prepared + kPairs * r, rounded, sizeof rounded);
        }
}

void interleaveIntegers(const float* rows, std::int64_t depth, float* panel)
{
    for (std::int64_t col = 0; col < depth; col += kGroup, panel += kPanelFloats) {
        std::int16_t rounded[kPanelWidth * kGroup];
        float pairs[kPanelWidth * kPairs];
        for (int r = 0; r < kPanelWidth; ++r)
            panel[kPairs * kPanelWidth + r] = roundGroup(rows + r * depth + col, depth - col,
                                                         kLargestWeight, rounded + r * kGroup);
        __builtin_memcpy(pairs, rounded, sizeof pairs);
        for (int r = 0; r < kPanelWidth; r += 8)
            for (int pair = 0; pair < kPairs; pair += 8)
                transposeEight(pairs + r * kPairs + pair, kPairs, panel + pair * kPanelWidth + r,
                               kPanelWidth);
    }
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

/// One group of columns. \tparam Adds  to y, as PanelTile has it
template <int Rows, bool Adds>
KVSCOPE_INLINE void multiplyGroup(const float* x, const float* panel, float* y,
                                  std::int64_t yStride)
{
    IntLanes sums[Rows][2];
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r)
        sums[r][0] = sums[r][1] = IntLanes{};
#pragma GCC unroll 2
    for (int pair = 0; pair < kPairs; ++pair) {
        const Lanes first = load(panel + pair * kPanelWidth);
        const Lanes second = load(panel + pair * kPanelWidth + kLanes);
#pragma GCC unroll 12
        for (int r = 0; r < Rows; ++r) {
            const Lanes in = broadcast(x[r * kPairs + pair]);
            sums[r][0] = multiplyPairs(sums[r][0], in, first);
            sums[r][1] = multiplyPairs(sums[r][1], in, second);
        }
    }
    const Lanes firstScale = load(panel + kPairs * kPanelWidth);
    const Lanes secondScale = load(panel + kPairs * kPanelWidth + kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
        const Lanes scale = broadcast(x[kPairs * kTileRows + r]);
        float* row = y + r * yStride;
        const Lanes a = __builtin_convertvector(sums[r][0], Lanes);
        const Lanes b = __builtin_convertvector(sums[r][1], Lanes);
        if constexpr (Adds) {
            store(row, multiplyAdd(a, scale * firstScale, load(row)));
            store(row + kLanes, multiplyAdd(b, scale * secondScale, load(row + kLanes)));
        } else {
            store(row, a * (scale * firstScale));
            store(row + kLanes, b * (scale * secondScale));
        }
    }
}

template <int Rows>
void multiplyIntegerTile(const PanelTile& tile)
{
    const float* x = tile.x;
    const float* panel = tile.panel;
    std::int64_t col = 0;
    if (!tile.adds) {
        multiplyGroup<Rows, false>(x, panel, tile.y, tile.yStride);
        col = kGroup;
    }
    for (; col < tile.depth; col += kGroup)
        multiplyGroup<Rows, true>(x + col * kTileRows, panel + col / kGroup * kPanelFloats, tile.y,
                                  tile.yStride);
}

/// multiplyIntegerTile<tile.rows>, looked for from Rows downwards.
template <int Rows>
void multiplyIntegerRows(const PanelTile& tile)
{
    if constexpr (Rows > 1)
        if (tile.rows < Rows)
            return multiplyIntegerRows<Rows - 1>(tile);
    multiplyIntegerTile<Rows>(tile);
}

constexpr PanelKernels integerPanelKernels()
{
    // Beside these panels the two ways meet between 18 and 28 rows, by format (linear_speed,
    // AVX-512 on Zen 5, [1536, 576] and [1536, 1536], one thread or two).
    constexpr bool kIsWide = kLanes == 16;
    return {kPanelWidth,
            kTileRows,
            kGroup,
            320, // 21 KiB
            kIsWide ? 20 : 18,
            kIsWide ? 48 : 24,
            multiplyIntegerRows<kTileRows>,
            interleaveIntegers,
            prepareIntegerRows};
}

} // namespace
} // namespace kvscope
