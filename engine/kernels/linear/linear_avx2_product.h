#pragma once

#include "engine/kernels/linear/linear_avx2_formats.h"
#include "engine/kernels/linear/linear_kernels.h"

// The product that every block format shares, eight groups of 32 at a time; for the sources beside
// it alone. What a format is: linear_avx2_k_formats.h.

namespace kvscope::avx2 {
namespace {

constexpr std::int64_t kBlockSize = kGroups * kGroupSize;

// Sixteen 8-bit integers as 16-bit ones: those of the groups' first halves in the lower half of the
// register, those of the second halves in the upper.
KVSCOPE_UNPACK __m256i arrangeHalves(__m128i integers)
{
    const __m128i order = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    return _mm256_cvtepi8_epi16(_mm_shuffle_epi8(integers, order));
}

// Both integers of a group, each in its half of the register: as elements lie in even-odd order.
KVSCOPE_UNPACK __m256i halvesOf(__m256i arranged, int group)
{
    const auto pair = static_cast<short>((2 * group + 1) << 8 | 2 * group);
    return _mm256_shuffle_epi8(arranged, _mm256_set1_epi16(pair));
}

// The inputs' blocks that meet one block of weights.
struct BlockInputs
{
    const std::int16_t* quantized;
    std::int64_t stride;
    const float* scales; // eight scales, then eight sums, see quantizeRowEvenOdd()
    std::int64_t scaleStride;
};

KVSCOPE_UNPACK __m256 dot(Integers weights, const std::int16_t* x)
{
    const __m256i products =
        _mm256_add_epi32(_mm256_madd_epi16(weights.first, load32Bytes(x)),
                         _mm256_madd_epi16(weights.second, load32Bytes(x + 16)));
    return _mm256_cvtepi32_ps(products);
}

// Adds one block times each input. A group's factor is one for all its lanes; each input has two
// sums, so that groups need not wait for each other.
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addGroups(const std::byte* block, const BlockInputs& in, __m256 (*sums)[2])
{
    alignas(32) float scales[kGroups];
    alignas(32) float offsets[kGroups];
    alignas(32) float factors[Inputs][kGroups];
    Format::readFactors(block, scales, offsets);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        const float* input = in.scales + n * in.scaleStride;
        _mm256_store_ps(factors[n], _mm256_mul_ps(_mm256_load_ps(scales), _mm256_loadu_ps(input)));
        if constexpr (Format::kHasOffset)
            sums[n][0] = _mm256_fmadd_ps(_mm256_load_ps(offsets), _mm256_loadu_ps(input + kGroups),
                                         sums[n][0]);
    }
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; ++g) {
        const Integers weights =
            splitEvenOdd<Format::kIsSigned, Format::kZero>(Format::bytes(block, g));
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n)
            sums[n][g % 2] =
                _mm256_fmadd_ps(dot(weights, in.quantized + n * in.stride + g * kGroupSize),
                                _mm256_broadcast_ss(&factors[n][g]), sums[n][g % 2]);
    }
}

// The same where the halves of groups have scales of their own: these multiply the integers, at
// most 128 * 32, so that four products with inputs of 16 bits still fit 32 (2^29), and the block's
// one factor remains. Offsets are integers times inputs likewise.
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addHalves(const std::byte* block, const BlockInputs& in, __m256 (*sums)[2])
{
    alignas(32) float factors[Inputs][kGroups];
    alignas(32) float offsetFactors[Inputs][kGroups];
    const __m256i scales = arrangeHalves(Format::readHalves(block));
    __m256i offsets = scales;
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        const __m256 input = _mm256_loadu_ps(in.scales + n * in.scaleStride);
        _mm256_store_ps(factors[n],
                        _mm256_mul_ps(_mm256_set1_ps(Format::multiplier(block)), input));
        if constexpr (Format::kHasOffset) {
            offsets = arrangeHalves(Format::readHalfOffsets(block));
            _mm256_store_ps(offsetFactors[n],
                            _mm256_mul_ps(_mm256_set1_ps(Format::offsetMultiplier(block)), input));
        }
    }
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; ++g) {
        Integers weights = splitEvenOdd<Format::kIsSigned, Format::kZero>(Format::bytes(block, g));
        const __m256i scale = halvesOf(scales, g);
        weights.first = _mm256_mullo_epi16(weights.first, scale);
        weights.second = _mm256_mullo_epi16(weights.second, scale);
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n) {
            const std::int16_t* x = in.quantized + n * in.stride + g * kGroupSize;
            sums[n][g % 2] = _mm256_fmadd_ps(dot(weights, x), _mm256_broadcast_ss(&factors[n][g]),
                                             sums[n][g % 2]);
            if constexpr (Format::kHasOffset) {
                const __m256i offset = halvesOf(offsets, g);
                sums[n][g % 2] =
                    _mm256_fmadd_ps(dot({offset, offset}, x),
                                    _mm256_broadcast_ss(&offsetFactors[n][g]), sums[n][g % 2]);
            }
        }
    }
}

// The last groups of a row that are no eight, one by one.
template <typename Format, int Inputs>
KVSCOPE_UNPACK void addRest(const std::byte* block, std::int64_t groups, const BlockInputs& in,
                            __m256 (*sums)[2])
{
    for (std::int64_t g = 0; g < groups; ++g, block += Format::kBytes) {
        const Integers weights =
            splitEvenOdd<Format::kIsSigned, Format::kZero>(Format::bytes(block));
        const float scale = Format::scale(block);
        const float offset = Format::offset(block);
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n) {
            const float* input = in.scales + n * in.scaleStride;
            const __m256 products = dot(weights, in.quantized + n * in.stride + g * kGroupSize);
            sums[n][0] = _mm256_fmadd_ps(products, _mm256_set1_ps(scale * input[g]), sums[n][0]);
            if constexpr (Format::kHasOffset)
                sums[n][1] = _mm256_add_ps(
                    sums[n][1], _mm256_zextps128_ps256(_mm_set_ss(offset * input[groups + g])));
        }
    }
}

// One row times some inputs. Rows are taken one by one: they lie one behind the other, so that the
// hardware's own prefetching works, which does not follow several short rows at once (four rows
// side by side reached two thirds of this speed), and unpacking needs the registers that more rows
// would take.
template <typename Format, int Inputs>
void multiplyRow(const RowProduct& p, std::int64_t row, std::int64_t input)
{
    const std::byte* block = p.weight + row * p.rowBytes;
    const std::int64_t scaleStride = p.cols / kGroupSize * 2;
    BlockInputs in{p.quantized + input * p.cols, p.cols, p.scaleAndSum + input * scaleStride,
                   scaleStride};
    __m256 sums[Inputs][2];
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n)
        sums[n][0] = sums[n][1] = _mm256_setzero_ps();
    std::int64_t col = 0;
    for (; col + kBlockSize <= p.cols; col += kBlockSize) {
        prefetch<Format::kBytes>(block, p.isStreamed);
        if constexpr (Format::kHalves)
            addHalves<Format, Inputs>(block, in, sums);
        else
            addGroups<Format, Inputs>(block, in, sums);
        block += Format::kBytes;
        in.quantized += kBlockSize;
        in.scales += 2 * kGroups;
    }
    if constexpr (Format::kMayEndEarly)
        addRest<typename Format::Small, Inputs>(block, (p.cols - col) / kGroupSize, in, sums);
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n)
        p.y[(input + n) * p.yStride + row] = sumOf(_mm256_add_ps(sums[n][0], sums[n][1]));
}

using MultiplyRow = void (*)(const RowProduct& p, std::int64_t row, std::int64_t input);

/// Every row with all inputs, four at a time by the one function and the others by the other.
template <MultiplyRow ByFour, MultiplyRow ByOne>
KVSCOPE_UNPACK void multiplyRows(const RowProduct& p, std::int64_t firstRow, std::int64_t endRow)
{
    for (std::int64_t row = firstRow; row < endRow; ++row) {
        std::int64_t input = 0;
        for (; input + 4 <= p.numInputs; input += 4)
            ByFour(p, row, input);
        for (; input < p.numInputs; ++input)
            ByOne(p, row, input);
    }
}

template <typename Format>
void multiply(const RowProduct& p, std::int64_t firstRow, std::int64_t endRow)
{
    multiplyRows<multiplyRow<Format, 4>, multiplyRow<Format, 1>>(p, firstRow, endRow);
}

} // namespace
} // namespace kvscope::avx2
