#pragma once

#include "engine/kernels/linear/linear_avx2_nibbles.h"
#include "engine/kernels/linear/linear_avx512_product.h"

// linear_avx2_nibbles.h for registers of 512 bits: four blocks side by side, one in each quarter.
// What is no four at the end of a row goes the way of AVX2. Inputs come from
// quantizeRowNibbleFours(). For the sources beside it alone.

namespace kvscope::avx512 {
namespace {

constexpr std::int64_t kFour = 4 * kGroupSize;

/// The weights of four blocks as avx2::PairOfBlocks has those of two.
struct FourBlocks
{
    __m512i first;
    __m512i firstTimes16;
    __m512i second;
    __m512i secondTimes16;
};

template <typename Format>
KVSCOPE_UNPACK FourBlocks loadFour(const std::byte* block)
{
    const std::byte* nibbles = block + Format::kFirstNibble;
    __m512i words = _mm512_castsi128_si512(avx2::load16Bytes(nibbles));
    words = _mm512_inserti32x4(words, avx2::load16Bytes(nibbles + Format::kBytes), 1);
    words = _mm512_inserti32x4(words, avx2::load16Bytes(nibbles + 2 * Format::kBytes), 2);
    words = _mm512_inserti32x4(words, avx2::load16Bytes(nibbles + 3 * Format::kBytes), 3);
    const __m512i shifted = _mm512_srli_epi16(words, 8);
    const __m512i low = _mm512_set1_epi16(0x000f);
    const __m512i high = _mm512_set1_epi16(0x00f0);
    return {_mm512_and_si512(words, low), _mm512_and_si512(words, high),
            _mm512_and_si512(shifted, low), _mm512_and_si512(shifted, high)};
}

/// Exact, as avx2::dot() is.
KVSCOPE_UNPACK __m512 dot(const FourBlocks& weights, const std::int16_t* x)
{
    const __m512i zero = _mm512_setzero_si512();
    __m512i once = _mm512_dpwssd_epi32(zero, weights.first, load64Bytes(x));
    once = _mm512_dpwssd_epi32(once, weights.second, load64Bytes(x + 64));
    __m512i times16 = _mm512_dpwssd_epi32(zero, weights.firstTimes16, load64Bytes(x + 32));
    times16 = _mm512_dpwssd_epi32(times16, weights.secondTimes16, load64Bytes(x + 96));
    return _mm512_cvtepi32_ps(_mm512_add_epi32(once, _mm512_srai_epi32(times16, 4)));
}

template <int Inputs>
struct NibbleSums
{
    __m512 products[Inputs][2];    ///< two, so that fours need not wait for each other
    avx2::NibbleSums<Inputs> rest; ///< its offsets are those of all blocks
};

/// Four blocks. Scales and sums of inputs lie in the order 0, 2, 1, 3 of blocks, as for AVX2.
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addFourBlocks(const std::byte* block, BlockInputs& in, NibbleSums<Inputs>& sums,
                                  int which)
{
    __m128i heads = _mm_cvtsi32_si128(avx2::loadInt(block));
    heads = _mm_insert_epi32(heads, avx2::loadInt(block + 2 * Format::kBytes), 1);
    heads = _mm_insert_epi32(heads, avx2::loadInt(block + Format::kBytes), 2);
    heads = _mm_insert_epi32(heads, avx2::loadInt(block + 3 * Format::kBytes), 3);
    const __m256 ofBlocks = _mm256_cvtph_ps(Format::factors(heads));
    const __m512i scaleOf = _mm512_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4, 2, 2, 2, 2, 6, 6, 6, 6);
    const FourBlocks weights = loadFour<Format>(block);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        const __m256 factors =
            _mm256_mul_ps(ofBlocks, _mm256_loadu_ps(in.scales + n * in.scaleStride));
        sums.rest.offsets[n] = _mm256_add_ps(sums.rest.offsets[n], factors);
        sums.products[n][which] = _mm512_fmadd_ps(dot(weights, in.quantized + n * in.stride),
                                                  _mm512_permutexvar_ps(scaleOf, widen(factors)),
                                                  sums.products[n][which]);
    }
    in.quantized += kFour;
    in.scales += 8;
}

template <typename Format, int Inputs>
void multiplyNibbleRow(const RowProduct& p, std::int64_t row, std::int64_t input)
{
    const std::byte* block = p.weight + row * p.rowBytes;
    const std::int64_t scaleStride = p.cols / kGroupSize * 2;
    BlockInputs in{p.quantized + input * p.cols, p.cols, p.scaleAndSum + input * scaleStride,
                   scaleStride};
    NibbleSums<Inputs> sums;
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        sums.products[n][0] = sums.products[n][1] = _mm512_setzero_ps();
        sums.rest.products[n][0] = sums.rest.products[n][1] = sums.rest.offsets[n] =
            _mm256_setzero_ps();
    }
    std::int64_t blocks = p.cols / kGroupSize;
    for (; blocks >= 8; blocks -= 8, block += 8 * Format::kBytes) {
        avx2::prefetch<8 * Format::kBytes>(block, p.isStreamed);
        addFourBlocks<Format, Inputs>(block, in, sums, 0);
        addFourBlocks<Format, Inputs>(block + 4 * Format::kBytes, in, sums, 1);
    }
    if (blocks >= 4) {
        addFourBlocks<Format, Inputs>(block, in, sums, 0);
        block += 4 * Format::kBytes;
        blocks -= 4;
    }
    avx2::addLastBlocks<Format, Inputs>(block, blocks, in, sums.rest);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n)
        p.y[(input + n) * p.yStride + row] = avx2::sumOfRow<Format>(
            sums.rest, n, folded(_mm512_add_ps(sums.products[n][0], sums.products[n][1])));
}

template <typename Format>
void multiplyNibbles(const RowProduct& p, std::int64_t firstRow, std::int64_t endRow)
{
    avx2::multiplyRows<multiplyNibbleRow<Format, 4>, multiplyNibbleRow<Format, 1>>(p, firstRow,
                                                                                   endRow);
}

} // namespace
} // namespace kvscope::avx512
