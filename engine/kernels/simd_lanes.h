#pragma once

// Float vectors of the width that the including file is compiled for. Everything is in an unnamed
// namespace and uses no standard library code: files compiled for different instruction sets each
// get their own, and the linker cannot hand one file's copy to another.

#include "engine/kernels/attention_simd.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace kvscope {
namespace {

#define KVSCOPE_INLINE [[gnu::always_inline]] inline

#if defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
using Lanes = float __attribute__((vector_size(kLanes * 4)));
using IntLanes = std::int32_t __attribute__((vector_size(kLanes * 4)));
using UIntLanes = std::uint32_t __attribute__((vector_size(kLanes * 4)));
using HalfLanes = std::uint16_t __attribute__((vector_size(kLanes * 2)));

struct BFloat16Bits
{
    std::uint16_t bits;
};
struct Float16Bits
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

/// Eight (or four) 16-bit numbers as 32-bit ones.
KVSCOPE_INLINE UIntLanes loadWide(const std::uint16_t* from)
{
    HalfLanes half;
    __builtin_memcpy(&half, from, sizeof half);
#if defined(__AVX2__)
    // g++ 12 makes four instructions of __builtin_convertvector here.
    return reinterpret_cast<UIntLanes>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(half)));
#else
    return __builtin_convertvector(half, UIntLanes);
#endif
}

KVSCOPE_INLINE Lanes load(const BFloat16Bits* from)
{
    return reinterpret_cast<Lanes>(loadWide(&from->bits) << 16);
}

KVSCOPE_INLINE Lanes load(const Float16Bits* from)
{
#if defined(__AVX2__)
    __m128i half;
    __builtin_memcpy(&half, from, sizeof half);
    return _mm256_cvtph_ps(half);
#else
    const UIntLanes wide = loadWide(&from->bits);
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
#if defined(__AVX2__)
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
    std::int8_t __attribute__((vector_size(kLanes))) bytes;
    __builtin_memcpy(&bytes, from, sizeof bytes);
    return __builtin_convertvector(bytes, Lanes);
#endif
}

#if defined(__AVX2__)
/// Shifted into place in a float16, whose exponent's bias is 15 and not 7, an e4m3 number is 2^-8
/// of itself, subnormals included. From bytes with their sign extended the sign is there twice.
KVSCOPE_INLINE __m128i fp8AsHalves(__m128i extended)
{
    return _mm_and_si128(_mm_slli_epi16(extended, 7), _mm_set1_epi16(-0x4001));
}
#endif

KVSCOPE_INLINE Lanes load(const Fp8Bits* from)
{
#if defined(__AVX2__)
    return _mm256_cvtph_ps(
        fp8AsHalves(_mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)))));
#else
    std::uint8_t __attribute__((vector_size(kLanes))) bytes;
    __builtin_memcpy(&bytes, from, sizeof bytes);
    const UIntLanes wide = __builtin_convertvector(bytes, UIntLanes);
    // In place in a float it is 2^-120 of itself.
    return reinterpret_cast<Lanes>(((wide & 0x7f) << 20) | ((wide & 0x80) << 24)) * 0x1p112F;
#endif
}

/// What the numbers of a row, as load() gives them, are multiplied by; it lies behind them.
KVSCOPE_INLINE float scaleOf(const KVRows& rows, std::int64_t row, std::int64_t headDim)
{
    float scale;
    __builtin_memcpy(&scale, rows.data + row * rows.stride + headDim, sizeof scale);
    return rows.type == KVType::Fp8 ? scale * kFp8Unit : scale;
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
#if defined(__AVX2__)
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
#if defined(__AVX2__)
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
    for (std::int64_t i = 0; i < count; ++i)
        part[i] = from[i];
    return load(part);
}

/// kLanes elements, or the first `count` of them where that is less.
template <typename Element>
KVSCOPE_INLINE Lanes loadUpTo(const Element* from, std::int64_t count)
{
    return count >= kLanes ? load(from) : loadPart(from, count);
}

/// Asks for a row that will be read soon. Past the end of the memory it does nothing. What is
/// streamed goes to the first cache alone, as in linear_avx2_lanes.h.
template <typename Element>
KVSCOPE_INLINE void prefetchRow(const Element* row, std::int64_t count, bool isStreamed)
{
    constexpr std::int64_t kLine = 64 / sizeof(Element);
    for (std::int64_t i = 0; i < count; i += kLine) {
        if (isStreamed)
            __builtin_prefetch(row + i, 0, 0);
        else
            __builtin_prefetch(row + i);
    }
}

KVSCOPE_INLINE Lanes larger(Lanes a, Lanes b)
{
    return a > b ? a : b;
}

/// e^x for x <= 0, 0 below -87; NaN stays NaN. Relative error below 3e-7: Taylor to r^6, |r| <=
/// ln(2) / 2.
KVSCOPE_INLINE Lanes expOf(Lanes x)
{
    const Lanes lowest = broadcast(-87.0F);
    const Lanes clamped = x < lowest ? lowest : x;
    // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
    const Lanes rounding = broadcast(0x1.8p23F);
    const Lanes shifted = clamped * 1.44269504F + rounding;
    const Lanes n = shifted - rounding;
    // ln 2 in two parts, the first with few enough bits for an exact product.
    const Lanes r = (clamped - n * 0.693359375F) + n * 2.12194440e-4F;
    Lanes y = broadcast(1.0F / 720.0F);
    y = y * r + 1.0F / 120.0F;
    y = y * r + 1.0F / 24.0F;
    y = y * r + 1.0F / 6.0F;
    y = y * r + 0.5F;
    y = y * r + 1.0F;
    y = y * r + 1.0F;
    const auto power = reinterpret_cast<Lanes>((reinterpret_cast<UIntLanes>(shifted) + 127) << 23);
    return x < lowest ? Lanes{} : y * power;
}

/// cap * tanh(x / cap). Absolute error below cap * 2e-7.
KVSCOPE_INLINE Lanes softCapped(Lanes x, float cap)
{
    const Lanes magnitude = x < Lanes{} ? -x : x;
    const Lanes e = expOf(magnitude * (-2.0F / cap));
    const Lanes capped = cap * ((1.0F - e) / (1.0F + e));
    return x < Lanes{} ? -capped : capped;
}

KVSCOPE_INLINE float sumOf(Lanes lanes)
{
    float sum = 0.0F;
    for (int i = 0; i < kLanes; ++i)
        sum += lanes[i];
    return sum;
}

KVSCOPE_INLINE float maxOf(Lanes lanes)
{
    float max = lanes[0];
    for (int i = 1; i < kLanes; ++i)
        max = lanes[i] > max ? lanes[i] : max;
    return max;
}

/// Calls work with a pointer of the rows' element type.
template <typename Work>
KVSCOPE_INLINE void withElements(const KVRows& rows, Work work)
{
    switch (rows.type) {
    case KVType::Float32:
        return work(reinterpret_cast<const float*>(rows.data));
    case KVType::BFloat16:
        return work(reinterpret_cast<const BFloat16Bits*>(rows.data));
    case KVType::Float16:
        return work(reinterpret_cast<const Float16Bits*>(rows.data));
    case KVType::Int8:
        return work(reinterpret_cast<const Int8Bits*>(rows.data));
    case KVType::Fp8:
        return work(reinterpret_cast<const Fp8Bits*>(rows.data));
    }
}

} // namespace
} // namespace kvscope
