#pragma once

#include "engine/kernels/linear/linear_avx2_nibbles.h"
#include "engine/kernels/linear/linear_avx512_product.h"

// linear_avx2_nibbles.h for registers of 512 bits: four blocks side by side, one in each quarter.
// Inputs come from quantizeRowNibbleFours(). For the sources beside it alone.

namespace kvscope::avx512 {
namespace {

constexpr std::int64_t kFour = 4 * kGroupSize;

/// Where parts of four or eight blocks lie in two registers loaded from them, of which the second
/// continues the numbers of the first; in integers of 16 bits.
struct Places
{
    std::int16_t of[32];
};

/// The nibbles of four blocks, from 64 bytes at the first block and 64 that end with the fourth.
template <typename Format>
constexpr Places nibblePlaces()
{
    constexpr int kSkipped = static_cast<int>(4 * Format::kBytes - 64) / 2;
    Places places{};
    for (int i = 0; i < 32; ++i) {
        const int at =
            (i / 8 * static_cast<int>(Format::kBytes) + Format::kFirstNibble) / 2 + i % 8;
        places.of[i] = static_cast<std::int16_t>(at < 32 ? at : 32 + at - kSkipped);
    }
    return places;
}

/// Scale and offset of eight blocks, from 64 bytes at the first and 64 at the fifth; of each four
/// in the order 0, 2, 1, 3.
template <typename Format>
constexpr Places factorPlaces()
{
    constexpr int kBlocks[] = {0, 2, 1, 3};
    Places places{};
    for (int i = 0; i < 16; ++i) {
        const int inFour = kBlocks[i / 2 % 4] * static_cast<int>(Format::kBytes) / 2;
        const bool isOffset = i % 2 == 1 && Format::kHasOffset;
        places.of[i] = static_cast<std::int16_t>(i / 8 * 32 + inFour + (isOffset ? 1 : 0));
    }
    return places;
}

template <const Places& Of>
KVSCOPE_UNPACK __m512i pick(__m512i first, __m512i second)
{
    return _mm512_permutex2var_epi16(first, load64Bytes(Of.of), second);
}

/// The weights of four blocks as avx2::PairOfBlocks has those of two.
struct FourBlocks
{
    __m512i first;
    __m512i firstTimes16;
    __m512i second;
    __m512i secondTimes16;
};

/// \param bytes  64 at the first block
template <typename Format>
KVSCOPE_UNPACK FourBlocks unpackFour(__m512i bytes, const std::byte* block)
{
    static constexpr Places kNibbles = nibblePlaces<Format>();
    const __m512i words = pick<kNibbles>(bytes, load64Bytes(block + 4 * Format::kBytes - 64));
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

/// Of one row with each input.
template <int Inputs>
struct NibbleSums
{
    __m512 products[Inputs][2]; ///< two, so that fours need not wait for each other
    __m512 offsets[Inputs];     ///< in odd lanes; the others have no meaning
};

/// Scales of four blocks, spread over the quarters of a register. \param first  their lane
template <int First>
KVSCOPE_UNPACK __m512 spread(__m512 factors)
{
    const __m512i scaleOf = _mm512_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4, 2, 2, 2, 2, 6, 6, 6, 6);
    return _mm512_permutexvar_ps(_mm512_add_epi32(scaleOf, _mm512_set1_epi32(First)), factors);
}

template <typename Format, int Inputs>
KVSCOPE_UNPACK void addEightBlocks(const std::byte* block, const BlockInputs& in,
                                   NibbleSums<Inputs>& sums)
{
    static constexpr Places kFactors = factorPlaces<Format>();
    const std::byte* fifth = block + 4 * Format::kBytes;
    const __m512i ofFirst = load64Bytes(block);
    const __m512i ofFifth = load64Bytes(fifth);
    const __m512 ofBlocks =
        _mm512_cvtph_ps(_mm512_castsi512_si256(pick<kFactors>(ofFirst, ofFifth)));
    __m512 factors[Inputs];
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        factors[n] = _mm512_mul_ps(ofBlocks, _mm512_loadu_ps(in.scales + n * in.scaleStride));
        sums.offsets[n] = _mm512_add_ps(sums.offsets[n], factors[n]);
    }
    const FourBlocks first = unpackFour<Format>(ofFirst, block);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n)
        sums.products[n][0] = _mm512_fmadd_ps(dot(first, in.quantized + n * in.stride),
                                              spread<0>(factors[n]), sums.products[n][0]);
    const FourBlocks second = unpackFour<Format>(ofFifth, fifth);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n)
        sums.products[n][1] = _mm512_fmadd_ps(dot(second, in.quantized + n * in.stride + kFour),
                                              spread<8>(factors[n]), sums.products[n][1]);
}

/// Four blocks that are no eight, at the end of a row.
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addFourBlocks(const std::byte* block, const BlockInputs& in,
                                  NibbleSums<Inputs>& sums)
{
    static constexpr Places kFactors = factorPlaces<Format>();
    const __m512i bytes = load64Bytes(block);
    const __m256 ofBlocks = _mm256_cvtph_ps(
        _mm256_castsi256_si128(_mm512_castsi512_si256(pick<kFactors>(bytes, bytes))));
    const FourBlocks weights = unpackFour<Format>(bytes, block);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        const __m512 factors = _mm512_zextps256_ps512(
            _mm256_mul_ps(ofBlocks, _mm256_loadu_ps(in.scales + n * in.scaleStride)));
        sums.offsets[n] = _mm512_add_ps(sums.offsets[n], factors);
        sums.products[n][0] = _mm512_fmadd_ps(dot(weights, in.quantized + n * in.stride),
                                              spread<0>(factors), sums.products[n][0]);
    }
}

/// Two blocks that are no four, at the end of a row. The lower half of a register has the nibbles
/// that count once, the upper those that count 16 times.
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addTwoBlocks(const std::byte* block, const BlockInputs& in,
                                 NibbleSums<Inputs>& sums)
{
    const std::byte* nibbles = block + Format::kFirstNibble;
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(avx2::load16Bytes(nibbles)),
                                                 avx2::load16Bytes(nibbles + Format::kBytes), 1);
    const __m512i words = join(both, both);
    const __m512i wanted = join(_mm256_set1_epi16(0x000f), _mm256_set1_epi16(0x00f0));
    const __m512i first = _mm512_and_si512(words, wanted);
    const __m512i second = _mm512_and_si512(_mm512_srli_epi16(words, 8), wanted);
    const __m128i heads = Format::factors(_mm_insert_epi32(
        _mm_cvtsi32_si128(avx2::loadInt(block)), avx2::loadInt(block + Format::kBytes), 1));
    const __m128 ofBlocks = _mm_cvtph_ps(heads);
    const __m512i scaleOf = _mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 0, 0, 2, 2, 2, 2);
    const __m512 counts =
        _mm512_mask_blend_ps(0xff00, _mm512_set1_ps(1.0F), _mm512_set1_ps(1.0F / 16));
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        const std::int16_t* x = in.quantized + n * in.stride;
        __m512i dots = _mm512_dpwssd_epi32(_mm512_setzero_si512(), first, load64Bytes(x));
        dots = _mm512_dpwssd_epi32(dots, second, load64Bytes(x + 32));
        const __m512 factors = _mm512_zextps256_ps512(_mm256_zextps128_ps256(
            _mm_mul_ps(ofBlocks, _mm_loadu_ps(in.scales + n * in.scaleStride))));
        sums.offsets[n] = _mm512_add_ps(sums.offsets[n], factors);
        sums.products[n][1] = _mm512_fmadd_ps(
            _mm512_cvtepi32_ps(dots),
            _mm512_mul_ps(counts, _mm512_permutexvar_ps(scaleOf, factors)), sums.products[n][1]);
    }
}

/// A last single block, the way of AVX2.
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addLastBlock(const std::byte* block, const BlockInputs& in,
                                 NibbleSums<Inputs>& sums)
{
    __m256 products[Inputs][2] = {};
    avx2::addRest<typename Format::Small, Inputs>(block, 1, in, products);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n)
        sums.products[n][1] =
            _mm512_add_ps(sums.products[n][1],
                          _mm512_zextps256_ps512(_mm256_add_ps(products[n][0], products[n][1])));
}

template <typename Format, int Inputs>
KVSCOPE_UNPACK float sumOfRow(const NibbleSums<Inputs>& sums, int n)
{
    const __m512 offsets = _mm512_mask_blend_ps(0xaaaa, _mm512_setzero_ps(), sums.offsets[n]);
    return sumOf(_mm512_fmadd_ps(offsets, _mm512_set1_ps(Format::kOffset),
                                 _mm512_add_ps(sums.products[n][0], sums.products[n][1])));
}

/// Rows that lie one behind the other, side by side: what ends a row and begins the next takes as
/// long as 256 weights where no other row goes on meanwhile (Zen 5, in cache: rows of 576 at 16.5
/// cycles for 256 weights, one by one 22.6).
template <typename Format, int Rows, int Inputs>
KVSCOPE_UNPACK void multiplyNibbleRows(const RowProduct& p, std::int64_t row, std::int64_t input)
{
    const std::byte* block = p.weight + row * p.rowBytes;
    const std::int64_t scaleStride = p.cols / kGroupSize * 2;
    BlockInputs in{p.quantized + input * p.cols, p.cols, p.scaleAndSum + input * scaleStride,
                   scaleStride};
    NibbleSums<Inputs> sums[Rows];
#pragma GCC unroll 2
    for (auto& ofRow : sums)
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n)
            ofRow.products[n][0] = ofRow.products[n][1] = ofRow.offsets[n] = _mm512_setzero_ps();
    std::int64_t blocks = p.cols / kGroupSize;
    for (; blocks >= 8; blocks -= 8, block += 8 * Format::kBytes) {
#pragma GCC unroll 2
        for (int r = 0; r < Rows; ++r) {
            avx2::prefetch<8 * Format::kBytes>(block + r * p.rowBytes, p.isStreamed);
            addEightBlocks<Format, Inputs>(block + r * p.rowBytes, in, sums[r]);
        }
        in.quantized += 2 * kFour;
        in.scales += 16;
    }
    if (blocks >= 4) {
#pragma GCC unroll 2
        for (int r = 0; r < Rows; ++r)
            addFourBlocks<Format, Inputs>(block + r * p.rowBytes, in, sums[r]);
        in.quantized += kFour;
        in.scales += 8;
        block += 4 * Format::kBytes;
        blocks -= 4;
    }
    if (blocks >= 2) {
#pragma GCC unroll 2
        for (int r = 0; r < Rows; ++r)
            addTwoBlocks<Format, Inputs>(block + r * p.rowBytes, in, sums[r]);
        in.quantized += avx2::kPair;
        in.scales += 4;
        block += 2 * Format::kBytes;
        blocks -= 2;
    }
    if (blocks > 0)
#pragma GCC unroll 2
        for (int r = 0; r < Rows; ++r)
            addLastBlock<Format, Inputs>(block + r * p.rowBytes, in, sums[r]);
#pragma GCC unroll 2
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n)
            p.y[(input + n) * p.yStride + row + r] = sumOfRow<Format>(sums[r], n);
}

template <typename Format, int Inputs>
void multiplyNibbleRow(const RowProduct& p, std::int64_t row, std::int64_t input)
{
    multiplyNibbleRows<Format, 1, Inputs>(p, row, input);
}

template <typename Format>
void multiplyNibbles(const RowProduct& p, std::int64_t firstRow, std::int64_t endRow)
{
    // Of wider rows the hardware's prefetching does not follow two (Zen 5, out of cache: 0.8 of the
    // bandwidth at 640 bytes, all of it at 560; one row at a time always all).
    constexpr std::int64_t kWidestOfTwo = 576;
    if (p.numInputs == 1 && p.rowBytes <= kWidestOfTwo)
        for (; firstRow + 2 <= endRow; firstRow += 2)
            multiplyNibbleRows<Format, 2, 1>(p, firstRow, 0);
    avx2::multiplyRows<multiplyNibbleRow<Format, 4>, multiplyNibbleRow<Format, 1>>(p, firstRow,
                                                                                   endRow);
}

} // namespace
} // namespace kvscope::avx512
