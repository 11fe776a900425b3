#pragma once

#include "engine/kernels/linear/linear_avx2_formats.h"

// The last step of expanding a group of any block format; for the sources beside it alone.

namespace kvscope::avx2 {
namespace {

/// Sixteen 8-bit integers times scale, plus offset, to out.
template <bool HasOffset>
KVSCOPE_UNPACK void storeDecoded(__m128i integers, __m256 scale, __m256 offset, float* out)
{
    const __m128i halves[2] = {integers, _mm_unpackhi_epi64(integers, integers)};
    for (int half = 0; half < 2; ++half) {
        // Where an offset follows, the product is exact (17 by 5 bits at most), so fusing the
        // addition would change nothing.
        const __m256 product =
            _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(halves[half])), scale);
        _mm256_storeu_ps(out + 8 * half, HasOffset ? _mm256_add_ps(product, offset) : product);
    }
}

/// A group whose halves have factors of their own, or the same.
template <typename Format>
KVSCOPE_UNPACK void storeGroup(__m256i bytes, const float* const scales[2],
                               const float* const offsets[2], float* out)
{
    const __m256i integers = _mm256_sub_epi8(bytes, _mm256_set1_epi8(Format::kZero));
    storeDecoded<Format::kHasOffset>(_mm256_castsi256_si128(integers),
                                     _mm256_broadcast_ss(scales[0]),
                                     _mm256_broadcast_ss(offsets[0]), out);
    storeDecoded<Format::kHasOffset>(_mm256_extracti128_si256(integers, 1),
                                     _mm256_broadcast_ss(scales[1]),
                                     _mm256_broadcast_ss(offsets[1]), out + 16);
}

} // namespace
} // namespace kvscope::avx2
