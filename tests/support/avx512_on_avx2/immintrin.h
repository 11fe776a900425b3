#pragma once

// Stands for the compiler's header of that name where kernels for AVX-512 and AMX are compiled for
// AVX2: SIMDe has the instructions of the first, tiles.h those of the second. So what they compute
// is tested on every x86-64 machine; how fast, and that the processor is asked first, is not.

#include_next <immintrin.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include "tests/support/avx512_on_avx2/tiles.h"

#include <simde/x86/avx512.h>

// What SIMDe 0.7.4 has not, from two halves.
namespace kvscope::avx512_on_cpu {
namespace {

using Floats = float __attribute__((vector_size(64)));
using Words = std::int16_t __attribute__((vector_size(32)));

template <typename Whole, typename Half>
[[maybe_unused]] Whole joined(Half low, Half high)
{
    static_assert(sizeof(Whole) == 2 * sizeof(Half));
    Whole whole;
    std::memcpy(&whole, &low, sizeof low);
    std::memcpy(reinterpret_cast<char*>(&whole) + sizeof low, &high, sizeof high);
    return whole;
}

[[maybe_unused]] simde__m512i widenedWords(__m256i words)
{
    return joined<simde__m512i>(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(words)),
                                _mm256_cvtepu16_epi32(_mm256_extracti128_si256(words, 1)));
}

[[maybe_unused]] simde__m512i widenedBytes(__m128i bytes)
{
    return joined<simde__m512i>(_mm256_cvtepi8_epi32(bytes),
                                _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes)));
}

[[maybe_unused]] simde__m512 widenedHalves(__m256i halves)
{
    return joined<simde__m512>(_mm256_cvtph_ps(_mm256_castsi256_si128(halves)),
                               _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
}

[[maybe_unused]] simde__m512 asFloats(simde__m512i integers)
{
    using Integers = std::int32_t __attribute__((vector_size(64)));
    return __builtin_convertvector(reinterpret_cast<Integers>(integers), Floats);
}

[[maybe_unused]] __m256i narrowed(simde__m512i integers)
{
    using Integers = std::int32_t __attribute__((vector_size(64)));
    return reinterpret_cast<__m256i>(
        __builtin_convertvector(reinterpret_cast<Integers>(integers), Words));
}

[[maybe_unused]] simde__m512i shifted(simde__m512i integers, int bits)
{
    using Integers = std::int32_t __attribute__((vector_size(64)));
    return reinterpret_cast<simde__m512i>(reinterpret_cast<Integers>(integers) >> bits);
}

[[maybe_unused]] simde__m512 withZeros(__m256 eight)
{
    return joined<simde__m512>(eight, _mm256_setzero_ps());
}

/// The elements whose bit of the mask is set; the others are 0, and not read.
template <typename Vector, typename Element>
[[maybe_unused]] Vector loadWhere(unsigned mask, const void* from)
{
    Vector lanes = {};
    for (unsigned i = 0; i < sizeof(Vector) / sizeof(Element); ++i)
        if ((mask >> i & 1U) != 0)
            std::memcpy(reinterpret_cast<char*>(&lanes) + i * sizeof(Element),
                        static_cast<const char*>(from) + i * sizeof(Element), sizeof(Element));
    return lanes;
}

/// To nearest even.
[[maybe_unused]] simde__m512i rounded(simde__m512 floats)
{
    __m256 halves[2];
    std::memcpy(halves, &floats, sizeof halves);
    return joined<simde__m512i>(_mm256_cvtps_epi32(halves[0]), _mm256_cvtps_epi32(halves[1]));
}

template <typename Element, typename Vector>
[[maybe_unused]] Element largestOf(Vector lanes)
{
    Element elements[16];
    std::memcpy(elements, &lanes, sizeof elements);
    Element largest = elements[0];
    for (const Element element : elements)
        largest = element > largest ? element : largest;
    return largest;
}

} // namespace
} // namespace kvscope::avx512_on_cpu

#define _mm512_cvtepu16_epi32(words) kvscope::avx512_on_cpu::widenedWords(words)
#define _mm512_cvtepi8_epi32(bytes) kvscope::avx512_on_cpu::widenedBytes(bytes)
#define _mm512_cvtph_ps(halves) kvscope::avx512_on_cpu::widenedHalves(halves)
#define _mm512_cvtepi32_ps(integers) kvscope::avx512_on_cpu::asFloats(integers)
#define _mm512_cvtepi32_epi16(integers) kvscope::avx512_on_cpu::narrowed(integers)
#define _mm512_srai_epi32(integers, bits) kvscope::avx512_on_cpu::shifted(integers, bits)
#define _mm512_zextps256_ps512(eight) kvscope::avx512_on_cpu::withZeros(eight)
#define _mm512_maskz_loadu_ps(mask, from)                                                          \
    kvscope::avx512_on_cpu::loadWhere<simde__m512, float>(mask, from)
#define _mm256_maskz_loadu_epi16(mask, from)                                                       \
    kvscope::avx512_on_cpu::loadWhere<__m256i, std::int16_t>(mask, from)
#define _mm_maskz_loadu_epi8(mask, from)                                                           \
    kvscope::avx512_on_cpu::loadWhere<__m128i, std::int8_t>(mask, from)
#define _mm512_reduce_max_ps(lanes) kvscope::avx512_on_cpu::largestOf<float>(lanes)
#define _mm512_reduce_max_epi32(lanes) kvscope::avx512_on_cpu::largestOf<std::int32_t>(lanes)
#define _mm512_cvtps_epi32(floats) kvscope::avx512_on_cpu::rounded(floats)

// What the kernels ask for their width.
#define __AVX512F__ 1
