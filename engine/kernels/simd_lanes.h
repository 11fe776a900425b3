#pragma once

// Float vectors of the width that the including file is compiled for: the loops of attention and
// linear() that are written once for every width. Everything is in an unnamed namespace and uses
// no standard library code: files compiled for different instruction sets each get their own, and
// the linker cannot hand one file's copy to another.

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace kvscope {
namespace {

#define KVSCOPE_INLINE [[gnu::always_inline]] inline

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
using Lanes = float __attribute__((vector_size(kLanes * 4)));
using IntLanes = std::int32_t __attribute__((vector_size(kLanes * 4)));
using UIntLanes = std::uint32_t __attribute__((vector_size(kLanes * 4)));
using HalfLanes = std::uint16_t __attribute__((vector_size(kLanes * 2)));
#if defined(__AVX2__)
using EightLanes = float __attribute__((vector_size(32)));
#endif

// Packed: weights lie at any alignment.
struct [[gnu::packed]] BFloat16Bits
{
    std::uint16_t bits;
};
struct [[gnu::packed]] Float16Bits
{
    std::uint16_t bits;
};
/// A number of -127 to 127, to be multiplied by the scale of its row.
struct Int8Bits
{
    std::int8_t bits;
};
/// An e4m3 number, no NaN, likewise. load() gives it divided by kFp8Unit.
struct Fp8Bits
{
    std::uint8_t bits;
};
constexpr float kFp8Unit = 0x1p8F;

KVSCOPE_INLINE Lanes broadcast(float x)
{
    return x - Lanes{}; // minus 0 changes nothing, not even -0, and costs nothing
}

KVSCOPE_INLINE Lanes load(const float* from)
{
    Lanes lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

KVSCOPE_INLINE void store(float* to, Lanes lanes)
{
    __builtin_memcpy(to, &lanes, sizeof lanes);
}

/// kLanes 16-bit numbers as 32-bit ones.
KVSCOPE_INLINE UIntLanes loadWide(const void* from)
{
    HalfLanes half;
    __builtin_memcpy(&half, from, sizeof half);
#if defined(__AVX512F__)
    return reinterpret_cast<UIntLanes>(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(half)));
#elif defined(__AVX2__)
    // g++ 12 makes four instructions of __builtin_convertvector here.
    return reinterpret_cast<UIntLanes>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(half)));
#else
    return __builtin_convertvector(half, UIntLanes);
#endif
}

KVSCOPE_INLINE Lanes load(const BFloat16Bits* from)
{
    return reinterpret_cast<Lanes>(loadWide(from) << 16);
}

KVSCOPE_INLINE Lanes load(const Float16Bits* from)
{
#if defined(__AVX512F__)
    __m256i half;
    __builtin_memcpy(&half, from, sizeof half);
    return _mm512_cvtph_ps(half);
#elif defined(__AVX2__)
    __m128i half;
    __builtin_memcpy(&half, from, sizeof half);
    return _mm256_cvtph_ps(half);
#else
    const UIntLanes wide = loadWide(from);
    const UIntLanes magnitude = wide & 0x7fff;
    // Shifted into place the exponent is 112 too small; the product mends it, subnormals included.
    const auto scaled = reinterpret_cast<Lanes>(magnitude << 13) * 0x1p112F;
    const UIntLanes notFinite = reinterpret_cast<UIntLanes>(magnitude >= 0x7c00) & 0x7f800000;
    return reinterpret_cast<Lanes>(reinterpret_cast<UIntLanes>(scaled) | notFinite |
                                   ((wide & 0x8000) << 16));
#endif
}

KVSCOPE_INLINE Lanes load(const Int8Bits* from)
{
#if defined(__AVX512F__)
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#elif defined(__AVX2__)
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
    std::int8_t __attribute__((vector_size(kLanes))) bytes;
    __builtin_memcpy(&bytes, from, sizeof bytes);
    return __builtin_convertvector(bytes, Lanes);
#endif
}

#if defined(__AVX2__)
// Shifted into place in a float16, whose exponent's bias is 15 and not 7, an e4m3 number is 2^-8 of
// itself, subnormals included. From bytes with their sign extended the sign is there twice.
constexpr int kFp8Shift = 7;
constexpr short kFp8Mask = -0x4001;
#endif

KVSCOPE_INLINE Lanes load(const Fp8Bits* from)
{
#if defined(__AVX512F__)
    const __m256i extended =
        _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    return _mm512_cvtph_ps(
        _mm256_and_si256(_mm256_slli_epi16(extended, kFp8Shift), _mm256_set1_epi16(kFp8Mask)));
#elif defined(__AVX2__)
    const __m128i extended =
        _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    return _mm256_cvtph_ps(
        _mm_and_si128(_mm_slli_epi16(extended, kFp8Shift), _mm_set1_epi16(kFp8Mask)));
#else
    std::uint8_t __attribute__((vector_size(kLanes))) bytes;
    __builtin_memcpy(&bytes, from, sizeof bytes);
    const UIntLanes wide = __builtin_convertvector(bytes, UIntLanes);
    // In place in a float it is 2^-120 of itself.
    return reinterpret_cast<Lanes>(((wide & 0x7f) << 20) | ((wide & 0x80) << 24)) * 0x1p112F;
#endif
}

/// 2 * kLanes neighbouring elements in the order in which they are quickest to unpack: bfloat16
/// evens and odds apart (a shift and a mask; widening in order is limited to one shuffle a cycle),
/// others in order.
struct LanePair
{
    Lanes first;
    Lanes second;
};

template <typename Element>
KVSCOPE_INLINE LanePair loadPair(const Element* from)
{
    return {load(from), load(from + kLanes)};
}

KVSCOPE_INLINE LanePair loadPair(const BFloat16Bits* from)
{
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    UIntLanes both;
    __builtin_memcpy(&both, from, sizeof both);
    return {reinterpret_cast<Lanes>(both << 16), reinterpret_cast<Lanes>(both & 0xffff0000)};
}

/// Floats in the order that loadPair() gives elements of that type.
template <typename Element>
KVSCOPE_INLINE LanePair loadPairAs(const float* from)
{
    const Lanes a = load(from);
    const Lanes b = load(from + kLanes);
    if constexpr (!__is_same(Element, BFloat16Bits))
        return {a, b};
#if defined(__AVX512F__)
    return {
        __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
        __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)};
#elif defined(__AVX2__)
    return {__builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14),
            __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)};
#else
    return {__builtin_shufflevector(a, b, 0, 2, 4, 6), __builtin_shufflevector(a, b, 1, 3, 5, 7)};
#endif
}

/// The inverse of loadPairAs().
template <typename Element>
KVSCOPE_INLINE void storePairAs(float* to, LanePair pair)
{
    const Lanes a = pair.first;
    const Lanes b = pair.second;
    if constexpr (!__is_same(Element, BFloat16Bits)) {
        store(to, a);
        store(to + kLanes, b);
        return;
    }
#if defined(__AVX512F__)
    store(to,
          __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
    store(to + kLanes, __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                               14, 30, 15, 31));
#elif defined(__AVX2__)
    store(to, __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11));
    store(to + kLanes, __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15));
#else
    store(to, __builtin_shufflevector(a, b, 0, 4, 1, 5));
    store(to + kLanes, __builtin_shufflevector(a, b, 2, 6, 3, 7));
#endif
}

/// The first `count` < kLanes elements, the others 0: never reads past the end of a row.
template <typename Element>
KVSCOPE_INLINE Lanes loadPart(const Element* from, std::int64_t count)
{
    Element part[kLanes] = {};
#if defined(__AVX512F__)
    const auto mask = static_cast<__mmask16>((1U << count) - 1U);
    if constexpr (sizeof(Element) == 1) {
        const __m128i bytes = _mm_maskz_loadu_epi8(mask, from);
        __builtin_memcpy(part, &bytes, sizeof bytes);
    } else if constexpr (sizeof(Element) == 2) {
        const __m256i words = _mm256_maskz_loadu_epi16(mask, from);
        __builtin_memcpy(part, &words, sizeof words);
    } else {
        return _mm512_maskz_loadu_ps(mask, from);
    }
    return load(part);
#else
    for (std::int64_t i = 0; i < count; ++i)
        part[i] = from[i];
    return load(part);
#endif
}

/// kLanes elements, or the first `count` of them where that is less.
template <typename Element>
KVSCOPE_INLINE Lanes loadUpTo(const Element* from, std::int64_t count)
{
    return count >= kLanes ? load(from) : loadPart(from, count);
}

KVSCOPE_INLINE Lanes larger(Lanes a, Lanes b)
{
    return a > b ? a : b;
}

#if defined(__AVX2__)
KVSCOPE_INLINE float sumOf(EightLanes lanes)
{
    const __m128 four = _mm256_castps256_ps128(lanes) + _mm256_extractf128_ps(lanes, 1);
    const __m128 two = four + _mm_movehl_ps(four, four);
    return two[0] + two[1];
}
#endif

#if defined(__AVX512F__)
/// Eight sums of two.
KVSCOPE_INLINE EightLanes folded(Lanes lanes)
{
    return __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7) +
           __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
}

KVSCOPE_INLINE float sumOf(Lanes lanes)
{
    return sumOf(folded(lanes));
}
#elif !defined(__AVX2__)
KVSCOPE_INLINE float sumOf(Lanes lanes)
{
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}
#endif

KVSCOPE_INLINE float maxOf(Lanes lanes)
{
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps(lanes);
#else
    float max = lanes[0];
    for (int i = 1; i < kLanes; ++i)
        max = lanes[i] > max ? lanes[i] : max;
    return max;
#endif
}

} // namespace
} // namespace kvscope
