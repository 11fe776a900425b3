#pragma once

#include "engine/kernels/linear/linear_avx2_product.h"

// The product of the formats that are nibbles and nothing else, Q4_0 and Q4_1: two blocks side by
// side, one in each half of a register, in three quarters of the instructions that the general
// product takes. Decoding is bound by those, not by memory, on cores that share their units (SMT).
// Inputs come from quantizeRowNibbles(). For the sources beside it alone.

namespace kvscope::avx2 {
namespace {

constexpr std::int64_t kPair = 2 * kGroupSize;

/// What of a block multiplies: two float16, scale and offset, and where the nibbles begin.
struct NibblesQ41
{
    using Small = FormatQ41;
    static constexpr std::int64_t kBytes = FormatQ41::kBytes;
    static constexpr std::int64_t kFirstNibble = 4;
    static constexpr bool kHasOffset = true;
    static constexpr float kOffset = 1.0F;
    /// \param heads  the first four bytes of four blocks
    KVSCOPE_UNPACK __m128i factors(__m128i heads) { return heads; }
};

/// The scale stands for the offset too, which is -8 times it.
struct NibblesQ40
{
    using Small = FormatQ40;
    static constexpr std::int64_t kBytes = FormatQ40::kBytes;
    static constexpr std::int64_t kFirstNibble = 2;
    static constexpr bool kHasOffset = false;
    static constexpr float kOffset = -8.0F;
    KVSCOPE_UNPACK __m128i factors(__m128i heads)
    {
        return _mm_shuffle_epi8(heads,
                                _mm_setr_epi8(0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13));
    }
};

/// The weights of two blocks, 16 bits each, by where they lie in the bytes: of 16-bit words the
/// nibbles 0 to 3. Nibbles 1 and 3 stay where they are and count 16 times.
struct PairOfBlocks
{
    __m256i first;
    __m256i firstTimes16;
    __m256i second;
    __m256i secondTimes16;
};

template <typename Format>
KVSCOPE_UNPACK PairOfBlocks loadPair(const std::byte* block)
{
    const std::byte* nibbles = block + Format::kFirstNibble;
    const __m256i words = _mm256_inserti128_si256(_mm256_castsi128_si256(load16Bytes(nibbles)),
                                                  load16Bytes(nibbles + Format::kBytes), 1);
    const __m256i shifted = _mm256_srli_epi16(words, 8);
    const __m256i low = _mm256_set1_epi16(0x000f);
    const __m256i high = _mm256_set1_epi16(0x00f0);
    return {_mm256_and_si256(words, low), _mm256_and_si256(words, high),
            _mm256_and_si256(shifted, low), _mm256_and_si256(shifted, high)};
}

/// Exact: the sum of what counts 16 times is a multiple of 16, and below 2^25.
KVSCOPE_UNPACK __m256 dot(const PairOfBlocks& weights, const std::int16_t* x)
{
    const __m256i once = _mm256_add_epi32(_mm256_madd_epi16(weights.first, load32Bytes(x)),
                                          _mm256_madd_epi16(weights.second, load32Bytes(x + 32)));
    const __m256i times16 =
        _mm256_add_epi32(_mm256_madd_epi16(weights.firstTimes16, load32Bytes(x + 16)),
                         _mm256_madd_epi16(weights.secondTimes16, load32Bytes(x + 48)));
    return _mm256_cvtepi32_ps(_mm256_add_epi32(once, _mm256_srai_epi32(times16, 4)));
}

template <int Inputs>
struct NibbleSums
{
    __m256 products[Inputs][2]; ///< two, so that pairs need not wait for each other
    __m256 offsets[Inputs];     ///< in odd lanes; the others have no meaning
};

/// Four blocks. Their factors lie as 0, 2 in the lower half of a register and 1, 3 in the upper, so
/// that those of a pair are spread over both halves by one shuffle.
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addFourBlocks(const std::byte* block, BlockInputs& in, NibbleSums<Inputs>& sums)
{
    __m128i heads = _mm_cvtsi32_si128(loadInt(block));
    heads = _mm_insert_epi32(heads, loadInt(block + 2 * Format::kBytes), 1);
    heads = _mm_insert_epi32(heads, loadInt(block + Format::kBytes), 2);
    heads = _mm_insert_epi32(heads, loadInt(block + 3 * Format::kBytes), 3);
    const __m256 ofBlocks = _mm256_cvtph_ps(Format::factors(heads));
    __m256 factors[Inputs];
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        factors[n] = _mm256_mul_ps(ofBlocks, _mm256_loadu_ps(in.scales + n * in.scaleStride));
        sums.offsets[n] = _mm256_add_ps(sums.offsets[n], factors[n]);
    }
    const PairOfBlocks first = loadPair<Format>(block);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n)
        sums.products[n][0] =
            _mm256_fmadd_ps(dot(first, in.quantized + n * in.stride),
                            _mm256_permute_ps(factors[n], 0x00), sums.products[n][0]);
    const PairOfBlocks second = loadPair<Format>(block + 2 * Format::kBytes);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n)
        sums.products[n][1] =
            _mm256_fmadd_ps(dot(second, in.quantized + n * in.stride + kPair),
                            _mm256_permute_ps(factors[n], 0xaa), sums.products[n][1]);
    in.quantized += 2 * kPair;
    in.scales += 8;
}

/// Two blocks at the end of a row.
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addTwoBlocks(const std::byte* block, BlockInputs& in, NibbleSums<Inputs>& sums)
{
    const __m128i heads = _mm_set_epi32(0, loadInt(block + Format::kBytes), 0, loadInt(block));
    const __m256 ofBlocks = _mm256_cvtph_ps(Format::factors(heads));
    const PairOfBlocks pair = loadPair<Format>(block);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        const auto* scales = reinterpret_cast<const __m128i*>(in.scales + n * in.scaleStride);
        const __m256 ofInputs = _mm256_castsi256_ps(_mm256_set_m128i(
            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in.scales + n * in.scaleStride + 2)),
            _mm_loadl_epi64(scales)));
        const __m256 factors = _mm256_mul_ps(ofBlocks, ofInputs);
        sums.offsets[n] = _mm256_add_ps(sums.offsets[n], factors);
        sums.products[n][0] =
            _mm256_fmadd_ps(dot(pair, in.quantized + n * in.stride),
                            _mm256_permute_ps(factors, 0x00), sums.products[n][0]);
    }
    in.quantized += kPair;
    in.scales += 4;
}

/// Up to three blocks at the end of a row.
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addLastBlocks(const std::byte* block, std::int64_t blocks, BlockInputs& in,
                                  NibbleSums<Inputs>& sums)
{
    if (blocks >= 2) {
        addTwoBlocks<Format, Inputs>(block, in, sums);
        block += 2 * Format::kBytes;
        blocks -= 2;
    }
    if (blocks > 0)
        addRest<typename Format::Small, Inputs>(block, blocks, in, sums.products);
}

/// A row's product with input n. \param products  what sums has them not of
template <typename Format, int Inputs>
KVSCOPE_UNPACK float sumOfRow(const NibbleSums<Inputs>& sums, int n,
                              __m256 products = _mm256_setzero_ps())
{
    const __m256 offsets = _mm256_blend_ps(_mm256_setzero_ps(), sums.offsets[n], 0xaa);
    return sumOf(_mm256_fmadd_ps(
        offsets, _mm256_set1_ps(Format::kOffset),
        _mm256_add_ps(products, _mm256_add_ps(sums.products[n][0], sums.products[n][1]))));
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
    for (int n = 0; n < Inputs; ++n)
        sums.products[n][0] = sums.products[n][1] = sums.offsets[n] = _mm256_setzero_ps();
    std::int64_t blocks = p.cols / kGroupSize;
    for (; blocks >= 8; blocks -= 8, block += 8 * Format::kBytes) {
        prefetch<8 * Format::kBytes>(block, p.isStreamed);
        addFourBlocks<Format, Inputs>(block, in, sums);
        addFourBlocks<Format, Inputs>(block + 4 * Format::kBytes, in, sums);
    }
    if (blocks >= 4) {
        addFourBlocks<Format, Inputs>(block, in, sums);
        block += 4 * Format::kBytes;
        blocks -= 4;
    }
    addLastBlocks<Format, Inputs>(block, blocks, in, sums);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n)
        p.y[(input + n) * p.yStride + row] = sumOfRow<Format>(sums, n);
}

template <typename Format>
void multiplyNibbles(const RowProduct& p, std::int64_t firstRow, std::int64_t endRow)
{
    multiplyRows<multiplyNibbleRow<Format, 4>, multiplyNibbleRow<Format, 1>>(p, firstRow, endRow);
}

} // namespace
} // namespace kvscope::avx2
