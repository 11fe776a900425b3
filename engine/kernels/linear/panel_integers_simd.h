#pragma once

// The loops of panel_integers.h for vectors of 8 or 16 floats; included by panel_integers_avx2.cpp
// and panel_integers_avx512.cpp alone.

#include "engine/kernels/integer_groups.h"
#include "engine/kernels/linear/panel_kernels.h"
#include "engine/kernels/linear/transpose_eight.h"

namespace kvscope {
namespace {

constexpr int kPanelWidth = 2 * kLanes;
/// As in panel_simd.h: 12 or 24 sums, two vectors of weights and one of x.
constexpr int kTileRows = kLanes == 16 ? 12 : 6;
static_assert(kPanelWidth <= kMostPanelWidth && kTileRows <= kMostTileRows);

// A pair of integers is moved as a float is. Of each group of columns a tile of x has the pairs of
// each row, then the rows' scales; there is room for more (PanelKernels::prepareRows). A panel has
// the first pair of each row of W, the second of each, and so on, then the rows' scales.
constexpr std::int64_t kTileFloats = kGroup * kTileRows;
constexpr std::int64_t kPanelFloats = (kPairs + 1) * kPanelWidth;

void prepareIntegerRows(const float* x, int rows, std::int64_t cols, float* prepared)
{
    for (std::int64_t col = 0; col < cols; col += kGroup, prepared += kTileFloats)
        for (int r = 0; r < rows; ++r) {
            std::int16_t rounded[kGroup];
            prepared[kPairs * kTileRows + r] =
                roundGroup(x + r * cols + col, cols - col, kLargestLeft, rounded);
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
                                                         kLargestRight, rounded + r * kGroup);
        __builtin_memcpy(pairs, rounded, sizeof pairs);
        for (int r = 0; r < kPanelWidth; r += 8)
            for (int pair = 0; pair < kPairs; pair += 8)
                transposeEight(pairs + r * kPairs + pair, kPairs, panel + pair * kPanelWidth + r,
                               kPanelWidth);
    }
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
            const Lanes in = broadcastPair(x + r * kPairs + pair);
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
        const Lanes a = toFloats(sums[r][0]);
        const Lanes b = toFloats(sums[r][1]);
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
            320, // 21 KiB, or half of it
            kIsWide ? 20 : 18,
            kIsWide ? 48 : 24,
            multiplyIntegerRows<kTileRows>,
            interleaveIntegers,
            prepareIntegerRows};
}

} // namespace
} // namespace kvscope
