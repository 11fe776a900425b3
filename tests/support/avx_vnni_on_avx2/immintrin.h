#pragma once

// Stands for the compiler's header of that name where kernels for AVX-VNNI are compiled for AVX2:
// the one instruction that they need more, from two. Of 16-bit integers above -32768 it is the
// same.

#include_next <immintrin.h>

#define _mm256_dpwssd_avx_epi32(sums, a, b) _mm256_add_epi32(sums, _mm256_madd_epi16(a, b))
