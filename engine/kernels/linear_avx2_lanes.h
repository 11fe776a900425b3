#pragma once

#include <immintrin.h>

// Shared by the AVX2 sources alone. `static`: each file keeps its own copy, see linear_kernels.h.

namespace kvscope::avx2 {

static inline float sumLanes(__m256 v)
{
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

} // namespace kvscope::avx2
