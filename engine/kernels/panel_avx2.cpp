#include "engine/kernels/panel_avx2.h"

#include <immintrin.h>

namespace kvscope::avx2 {
namespace {

static_assert(kPanelWidth == 16 && kTileRows == 6);

template <int Rows>
void multiplyTile(const PanelTile& tile)
{
    float* y = tile.y;
    __m256 sums[Rows][2];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        _mm_prefetch(reinterpret_cast<const char*>(y + r * tile.yStride), _MM_HINT_T0);
        sums[r][0] = sums[r][1] = _mm256_setzero_ps();
    }
    const float* x = tile.x;
    const float* panel = tile.panel;
    const std::int64_t stride = tile.xStride;
#pragma GCC unroll 2
    for (std::int64_t d = 0; d < tile.depth; ++d, panel += kPanelWidth) {
        const __m256 first = _mm256_loadu_ps(panel);
        const __m256 second = _mm256_loadu_ps(panel + 8);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const __m256 in = _mm256_broadcast_ss(x + r * stride + d);
            sums[r][0] = _mm256_fmadd_ps(in, first, sums[r][0]);
            sums[r][1] = _mm256_fmadd_ps(in, second, sums[r][1]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        float* row = y + r * tile.yStride;
        if (tile.adds) {
            sums[r][0] = _mm256_add_ps(sums[r][0], _mm256_loadu_ps(row));
            sums[r][1] = _mm256_add_ps(sums[r][1], _mm256_loadu_ps(row + 8));
        }
        _mm256_storeu_ps(row, sums[r][0]);
        _mm256_storeu_ps(row + 8, sums[r][1]);
    }
}

void multiply(const PanelTile& tile)
{
    switch (tile.rows) {
    case 1:
        return multiplyTile<1>(tile);
    case 2:
        return multiplyTile<2>(tile);
    case 3:
        return multiplyTile<3>(tile);
    case 4:
        return multiplyTile<4>(tile);
    case 5:
        return multiplyTile<5>(tile);
    default:
        return multiplyTile<6>(tile);
    }
}

/// to[c * kPanelWidth + r] = from[r * stride + c] for eight rows and columns.
void transposeEight(const float* from, std::int64_t stride, float* to)
{
    __m256 pairs[8];
    for (int r = 0; r < 8; r += 2) {
        const __m256 a = _mm256_loadu_ps(from + r * stride);
        const __m256 b = _mm256_loadu_ps(from + (r + 1) * stride);
        pairs[r] = _mm256_unpacklo_ps(a, b);
        pairs[r + 1] = _mm256_unpackhi_ps(a, b);
    }
    __m256 fours[8];
    for (int half = 0; half < 8; half += 4)
        for (int i = 0; i < 2; ++i) {
            const __m256 a = pairs[half + i];
            const __m256 b = pairs[half + i + 2];
            fours[half + 2 * i] = _mm256_shuffle_ps(a, b, 0x44);
            fours[half + 2 * i + 1] = _mm256_shuffle_ps(a, b, 0xee);
        }
    for (int c = 0; c < 4; ++c) {
        _mm256_storeu_ps(to + c * kPanelWidth,
                         _mm256_permute2f128_ps(fours[c], fours[c + 4], 0x20));
        _mm256_storeu_ps(to + (c + 4) * kPanelWidth,
                         _mm256_permute2f128_ps(fours[c], fours[c + 4], 0x31));
    }
}

void interleave(const float* rows, std::int64_t depth, float* panel)
{
    std::int64_t d = 0;
    for (; d + 8 <= depth; d += 8) {
        transposeEight(rows + d, depth, panel + d * kPanelWidth);
        transposeEight(rows + 8 * depth + d, depth, panel + d * kPanelWidth + 8);
    }
    for (; d < depth; ++d)
        for (int r = 0; r < kPanelWidth; ++r)
            panel[d * kPanelWidth + r] = rows[r * depth + d];
}

} // namespace

constinit const PanelKernels kPanels{multiply, interleave};

} // namespace kvscope::avx2
