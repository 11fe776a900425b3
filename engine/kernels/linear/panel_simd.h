#pragma once

// The loops of PanelKernels for vectors of 8 or 16 floats; included by panel_avx2.cpp and
// panel_avx512.cpp alone.

#include "engine/kernels/linear/panel_kernels.h"
#include "engine/kernels/linear/transpose_eight.h"
#include "engine/kernels/simd_lanes.h"

namespace kvscope {
namespace {

constexpr int kPanelWidth = 2 * kLanes;
/// With 16 registers 12 sums, two vectors of weights and one of x (the shape of BLIS's kernel for
/// Haswell and Zen; Van Zee and van de Geijn, ACM TOMS 41, 2015), with the 32 of AVX-512 24 sums.
constexpr int kTileRows = kLanes == 16 ? 12 : 6;
static_assert(kPanelWidth <= kMostPanelWidth && kTileRows <= kMostTileRows);

template <int Rows>
void multiplyTile(const PanelTile& tile)
{
    float* y = tile.y;
    Lanes sums[Rows][2];
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
        __builtin_prefetch(y + r * tile.yStride);
        if (kLanes == 16)
            __builtin_prefetch(y + r * tile.yStride + kLanes);
        sums[r][0] = sums[r][1] = Lanes{};
    }
    const float* x = tile.x;
    const float* panel = tile.panel;
    const std::int64_t stride = tile.xStride;
#pragma GCC unroll 2
    for (std::int64_t d = 0; d < tile.depth; ++d, panel += kPanelWidth) {
        const Lanes first = load(panel);
        const Lanes second = load(panel + kLanes);
#pragma GCC unroll 12
        for (int r = 0; r < Rows; ++r) {
            const Lanes in = broadcast(x[r * stride + d]);
            sums[r][0] += in * first;
            sums[r][1] += in * second;
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
        float* row = y + r * tile.yStride;
        if (tile.adds) {
            sums[r][0] += load(row);
            sums[r][1] += load(row + kLanes);
        }
        store(row, sums[r][0]);
        store(row + kLanes, sums[r][1]);
    }
}

/// multiplyTile<tile.rows>, looked for from Rows downwards.
template <int Rows>
void multiplyRows(const PanelTile& tile)
{
    if constexpr (Rows > 1)
        if (tile.rows < Rows)
            return multiplyRows<Rows - 1>(tile);
    multiplyTile<Rows>(tile);
}

/// panel[d][r] = rows[r][d].
void interleave(const float* rows, std::int64_t depth, float* panel)
{
    std::int64_t d = 0;
    for (; d + 8 <= depth; d += 8)
        for (int r = 0; r < kPanelWidth; r += 8)
            transposeEight(rows + r * depth + d, depth, panel + d * kPanelWidth + r, kPanelWidth);
    for (; d < depth; ++d)
        for (int r = 0; r < kPanelWidth; ++r)
            panel[d * kPanelWidth + r] = rows[r * depth + d];
}

constexpr PanelKernels panelKernels()
{
    // Beside these panels the two ways meet between 13 and 28 rows, by format (linear_speed, AVX2
    // on Zen 2, [1536, 576] and [1536, 1536], one thread or two), with AVX-512 between 14 and 24
    // (Zen 5, [1536, 576]).
    constexpr bool kIsWide = kLanes == 16;
    return {kPanelWidth,         kTileRows,         1,
            kIsWide ? 160 : 320, // 20 KiB
            kIsWide ? 20 : 18,   kIsWide ? 48 : 24, multiplyRows<kTileRows>,
            interleave};
}

} // namespace
} // namespace kvscope
