#pragma once

#include "engine/kernels/linear/linear_avx2_product.h"

// linear_avx2_product.h for registers of 512 bits: groups of 32 weights go in pairs, the first of a
// pair in the lower half of a register. Formats are unpacked as there. Inputs come from
// quantizeRowPairs(). For the sources beside it alone.

namespace kvscope::avx512 {
namespace {

using avx2::BlockInputs;
using avx2::kBlockSize;
using avx2::kGroups;
using avx2::kGroupSize;

constexpr int kPairs = kGroups / 2;
constexpr std::int64_t kPairSize = 2 * kGroupSize;

KVSCOPE_UNPACK __m512i load64Bytes(const void* at)
{
    return _mm512_loadu_si512(at);
}

KVSCOPE_UNPACK __m512i join(__m256i lower, __m256i upper)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(lower), upper, 1);
}

/// 64 integers of 16 bits: 0, 2, ... 62, then 1, 3, ... 63.
struct Integers
{
    __m512i first;
    __m512i second;
};

template <bool IsSigned, int Zero>
KVSCOPE_UNPACK Integers splitEvenOdd(__m512i bytes)
{
    __m512i even;
    __m512i odd;
    if constexpr (IsSigned) {
        even = _mm512_srai_epi16(_mm512_slli_epi16(bytes, 8), 8);
        odd = _mm512_srai_epi16(bytes, 8);
    } else {
        even = _mm512_and_si512(bytes, _mm512_set1_epi16(0xff));
        odd = _mm512_srli_epi16(bytes, 8);
    }
    if constexpr (Zero != 0) {
        even = _mm512_sub_epi16(even, _mm512_set1_epi16(Zero));
        odd = _mm512_sub_epi16(odd, _mm512_set1_epi16(Zero));
    }
    return {even, odd};
}

KVSCOPE_UNPACK __m512 dot(Integers weights, const std::int16_t* x)
{
    const __m512i first =
        _mm512_dpwssd_epi32(_mm512_setzero_si512(), weights.first, load64Bytes(x));
    return _mm512_cvtepi32_ps(_mm512_dpwssd_epi32(first, weights.second, load64Bytes(x + 32)));
}

/// Of eight factors that of each group of a pair, in its half of the register.
KVSCOPE_UNPACK __m512 factorsOfPair(__m512 factors, int pair)
{
    const __m512i inLower = _mm512_set1_epi32(2 * pair);
    const __m512i ofGroup = _mm512_mask_add_epi32(inLower, 0xff00, inLower, _mm512_set1_epi32(1));
    return _mm512_permutexvar_ps(ofGroup, factors);
}

KVSCOPE_UNPACK __m512 widen(__m256 eight)
{
    return _mm512_castps256_ps512(eight); // the upper half has no meaning, and is not read
}

// Adds one block times each input; each has two sums, so that pairs need not wait for each other,
// and offsets one of their own.
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addGroups(const std::byte* block, const BlockInputs& in, __m512 (*sums)[2],
                              __m256* offsetSums)
{
    alignas(32) float scales[kGroups];
    alignas(32) float offsets[kGroups];
    __m512 factors[Inputs];
    Format::readFactors(block, scales, offsets);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        const float* input = in.scales + n * in.scaleStride;
        factors[n] = widen(_mm256_mul_ps(_mm256_load_ps(scales), _mm256_loadu_ps(input)));
        if constexpr (Format::kHasOffset)
            offsetSums[n] = _mm256_fmadd_ps(_mm256_load_ps(offsets),
                                            _mm256_loadu_ps(input + kGroups), offsetSums[n]);
    }
#pragma GCC unroll 8
    for (int p = 0; p < kPairs; ++p) {
        const Integers weights = splitEvenOdd<Format::kIsSigned, Format::kZero>(
            join(Format::bytes(block, 2 * p), Format::bytes(block, 2 * p + 1)));
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n)
            sums[n][p % 2] =
                _mm512_fmadd_ps(dot(weights, in.quantized + n * in.stride + p * kPairSize),
                                factorsOfPair(factors[n], p), sums[n][p % 2]);
    }
}

// Of arrangeHalves() the integers of a pair of groups, each half's beside its elements.
KVSCOPE_UNPACK __m512i halvesOf(__m512i arranged, int pair)
{
    const auto ofGroup = [](int group) {
        return _mm256_set1_epi16(static_cast<short>((2 * group + 1) << 8 | 2 * group));
    };
    return _mm512_shuffle_epi8(arranged, join(ofGroup(2 * pair), ofGroup(2 * pair + 1)));
}

KVSCOPE_UNPACK __m512i arrangeHalves(__m128i integers)
{
    return _mm512_broadcast_i64x4(avx2::arrangeHalves(integers));
}

// The same where the halves of groups have scales of their own; avx2::addHalves() says how.
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addHalves(const std::byte* block, const BlockInputs& in, __m512 (*sums)[2])
{
    __m512 factors[Inputs];
    __m512 offsetFactors[Inputs];
    const __m512i scales = arrangeHalves(Format::readHalves(block));
    __m512i offsets = scales;
    if constexpr (Format::kHasOffset)
        offsets = arrangeHalves(Format::readHalfOffsets(block));
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        const __m256 input = _mm256_loadu_ps(in.scales + n * in.scaleStride);
        factors[n] = widen(_mm256_mul_ps(_mm256_set1_ps(Format::multiplier(block)), input));
        if constexpr (Format::kHasOffset)
            offsetFactors[n] =
                widen(_mm256_mul_ps(_mm256_set1_ps(Format::offsetMultiplier(block)), input));
    }
#pragma GCC unroll 8
    for (int p = 0; p < kPairs; ++p) {
        Integers weights = splitEvenOdd<Format::kIsSigned, Format::kZero>(
            join(Format::bytes(block, 2 * p), Format::bytes(block, 2 * p + 1)));
        const __m512i scale = halvesOf(scales, p);
        weights.first = _mm512_mullo_epi16(weights.first, scale);
        weights.second = _mm512_mullo_epi16(weights.second, scale);
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n) {
            const std::int16_t* x = in.quantized + n * in.stride + p * kPairSize;
            sums[n][p % 2] =
                _mm512_fmadd_ps(dot(weights, x), factorsOfPair(factors[n], p), sums[n][p % 2]);
            if constexpr (Format::kHasOffset) {
                const __m512i offset = halvesOf(offsets, p);
                sums[n][p % 2] = _mm512_fmadd_ps(
                    dot({offset, offset}, x), factorsOfPair(offsetFactors[n], p), sums[n][p % 2]);
            }
        }
    }
}

// The last groups of a row that are no eight: pairs, and one that is left. \param groups  below 8
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addRest(const std::byte* block, std::int64_t groups, const BlockInputs& in,
                            __m512 (*sums)[2], __m256* offsetSums)
{
    const auto addOffset = [&](int n, float factor) {
        if constexpr (Format::kHasOffset)
            offsetSums[n] =
                _mm256_add_ps(offsetSums[n], _mm256_zextps128_ps256(_mm_set_ss(factor)));
    };
    std::int64_t g = 0;
    for (; g + 2 <= groups; g += 2, block += 2 * Format::kBytes) {
        const std::byte* other = block + Format::kBytes;
        const Integers weights = splitEvenOdd<Format::kIsSigned, Format::kZero>(
            join(Format::bytes(block), Format::bytes(other)));
        const float scales[2] = {Format::scale(block), Format::scale(other)};
        const float offsets[2] = {Format::offset(block), Format::offset(other)};
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n) {
            const float* input = in.scales + n * in.scaleStride + g;
            const __m512 factors = _mm512_mask_blend_ps(
                0xff00, _mm512_set1_ps(scales[0] * input[0]), _mm512_set1_ps(scales[1] * input[1]));
            sums[n][0] = _mm512_fmadd_ps(
                dot(weights, in.quantized + n * in.stride + g * kGroupSize), factors, sums[n][0]);
            addOffset(n, offsets[0] * input[groups] + offsets[1] * input[groups + 1]);
        }
    }
    if (g == groups)
        return;
    const avx2::Integers weights =
        avx2::splitEvenOdd<Format::kIsSigned, Format::kZero>(Format::bytes(block));
    const float scale = Format::scale(block);
    const float offset = Format::offset(block);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        const float* input = in.scales + n * in.scaleStride + g;
        const __m256 products = avx2::dot(weights, in.quantized + n * in.stride + g * kGroupSize);
        sums[n][1] = _mm512_fmadd_ps(_mm512_zextps256_ps512(products),
                                     _mm512_set1_ps(scale * input[0]), sums[n][1]);
        addOffset(n, offset * input[groups]);
    }
}

// One row times some inputs; avx2::multiplyRow() says why rows go one by one.
template <typename Format, int Inputs>
void multiplyRow(const RowProduct& p, std::int64_t row, std::int64_t input)
{
    const std::byte* block = p.weight + row * p.rowBytes;
    const std::int64_t scaleStride = p.cols / kGroupSize * 2;
    BlockInputs in{p.quantized + input * p.cols, p.cols, p.scaleAndSum + input * scaleStride,
                   scaleStride};
    __m512 sums[Inputs][2];
    __m256 offsetSums[Inputs];
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        sums[n][0] = sums[n][1] = _mm512_setzero_ps();
        offsetSums[n] = _mm256_setzero_ps();
    }
    std::int64_t col = 0;
    for (; col + kBlockSize <= p.cols; col += kBlockSize) {
        avx2::prefetch<Format::kBytes>(block, p.isStreamed);
        if constexpr (Format::kHalves)
            addHalves<Format, Inputs>(block, in, sums);
        else
            addGroups<Format, Inputs>(block, in, sums, offsetSums);
        block += Format::kBytes;
        in.quantized += kBlockSize;
        in.scales += 2 * kGroups;
    }
    if constexpr (Format::kMayEndEarly)
        addRest<typename Format::Small, Inputs>(block, (p.cols - col) / kGroupSize, in, sums,
                                                offsetSums);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n)
        p.y[(input + n) * p.yStride + row] =
            sumOf(folded(_mm512_add_ps(sums[n][0], sums[n][1])) + offsetSums[n]);
}

template <typename Format>
void multiply(const RowProduct& p, std::int64_t firstRow, std::int64_t endRow)
{
    avx2::multiplyRows<multiplyRow<Format, 4>, multiplyRow<Format, 1>>(p, firstRow, endRow);
}

} // namespace
} // namespace kvscope::avx512
