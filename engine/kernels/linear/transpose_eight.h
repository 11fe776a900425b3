#pragma once

#include "engine/kernels/simd_lanes.h"

// For panel_simd.h, panel_integers_simd.h and panel_amx.cpp alone, which are compiled for AVX2 at
// least.

namespace kvscope {
namespace {

/// to[c * toStride + r] = from[r * stride + c] for eight rows and columns.
KVSCOPE_INLINE void transposeEight(const float* from, std::int64_t stride, float* to,
                                   std::int64_t toStride)
{
    __m256 pairs[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; r += 2) {
        const __m256 a = _mm256_loadu_ps(from + r * stride);
        const __m256 b = _mm256_loadu_ps(from + (r + 1) * stride);
        pairs[r] = _mm256_unpacklo_ps(a, b);
        pairs[r + 1] = _mm256_unpackhi_ps(a, b);
    }
    __m256 fours[8];
#pragma GCC unroll 8
    for (int half = 0; half < 8; half += 4)
#pragma GCC unroll 8
        for (int i = 0; i < 2; ++i) {
            const __m256 a = pairs[half + i];
            const __m256 b = pairs[half + i + 2];
            fours[half + 2 * i] = _mm256_shuffle_ps(a, b, 0x44);
            fours[half + 2 * i + 1] = _mm256_shuffle_ps(a, b, 0xee);
        }
#pragma GCC unroll 8
    for (int c = 0; c < 4; ++c) {
        _mm256_storeu_ps(to + c * toStride, _mm256_permute2f128_ps(fours[c], fours[c + 4], 0x20));
        _mm256_storeu_ps(to + (c + 4) * toStride,
                         _mm256_permute2f128_ps(fours[c], fours[c + 4], 0x31));
    }
}

} // namespace
} // namespace kvscope
