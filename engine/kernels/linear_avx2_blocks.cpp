#include "engine/kernels/linear_avx2.h"
#include "engine/kernels/linear_avx2_expand.h"

namespace kvscope::avx2 {

namespace {

// A block's integers in the order of the format's inputs: of Q8_0 as they are, of others even ones
// first, see splitEvenOdd().
template <typename Format>
KVSCOPE_UNPACK Integers integersOf(const std::byte* block)
{
    if constexpr (__is_same(Format, FormatQ80))
        return {_mm256_cvtepi8_epi16(load16Bytes(block + 2)),
                _mm256_cvtepi8_epi16(load16Bytes(block + 18))};
    else
        return splitEvenOdd<Format::kIsSigned, Format::kZero>(Format::bytes(block));
}

// The factors of one block of each row (scale, and offset or what follows it) times the (scale,
// sum) of each input: those of row r are elements 2 r and 2 r + 1.
template <typename Format, int Rows, int Inputs>
struct Factors
{
    alignas(32) float of[Inputs][8];

    Factors(const std::byte* block, std::int64_t rowBytes, const float* scaleAndSum,
            std::int64_t inputStride, __m256* offsets)
    {
        __m128i firstBytes = _mm_loadu_si32(block);
        if constexpr (Rows == 4) {
            // One conversion and one product for four rows; broadcasting them from memory is then
            // free.
            firstBytes = _mm_insert_epi32(firstBytes, loadInt(block + rowBytes), 1);
            firstBytes = _mm_insert_epi32(firstBytes, loadInt(block + 2 * rowBytes), 2);
            firstBytes = _mm_insert_epi32(firstBytes, loadInt(block + 3 * rowBytes), 3);
        }
        const __m256 stored = Format::factors(firstBytes);
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n) {
            const __m256 product = _mm256_mul_ps(stored, loadPair(scaleAndSum + n * inputStride));
            _mm256_store_ps(of[n], product);
            offsets[n] = _mm256_add_ps(offsets[n], product);
        }
    }
    static __m256 loadPair(const float* pair)
    {
        double bits = 0;
        std::memcpy(&bits, pair, sizeof(bits));
        return _mm256_castpd_ps(_mm256_set1_pd(bits));
    }
};

// Rows x Inputs dot products at once: a block's integers serve all inputs, an input all rows, and
// the sums do not wait for each other.
template <typename Format, int Rows, int Inputs>
void multiplyTile(const RowProduct& p, std::int64_t row, std::int64_t input)
{
    const std::int64_t numBlocks = p.cols / kGroupSize;
    const std::byte* weight = p.weight + row * p.rowBytes;
    const std::int16_t* x = p.quantized + input * p.cols;
    const float* scaleAndSum = p.scaleAndSum + input * numBlocks * 2;
    __m256 sums[Rows][Inputs];
    __m256 offsets[Inputs];
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        offsets[n] = _mm256_setzero_ps();
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
            sums[r][n] = _mm256_setzero_ps();
    }
    for (std::int64_t b = 0; b < numBlocks; ++b) {
        prefetch<Rows * Format::kBytes>(weight + b * Rows * Format::kBytes);
        const std::byte* block = weight + b * Format::kBytes;
        const Factors<Format, Rows, Inputs> factors(block, p.rowBytes, scaleAndSum + 2 * b,
                                                    2 * numBlocks, offsets);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const Integers weights = integersOf<Format>(block + r * p.rowBytes);
#pragma GCC unroll 8
            for (int n = 0; n < Inputs; ++n) {
                const auto* values =
                    reinterpret_cast<const __m256i*>(x + n * p.cols + b * kGroupSize);
                const __m256i products = _mm256_add_epi32(
                    _mm256_madd_epi16(weights.first, _mm256_loadu_si256(values)),
                    _mm256_madd_epi16(weights.second, _mm256_loadu_si256(values + 1)));
                sums[r][n] =
                    _mm256_fmadd_ps(_mm256_cvtepi32_ps(products),
                                    _mm256_broadcast_ss(&factors.of[n][2 * r]), sums[r][n]);
            }
        }
    }
#pragma GCC unroll 8
    for (int n = 0; n < Inputs; ++n) {
        alignas(32) float offset[8];
        _mm256_store_ps(offset, offsets[n]);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
            p.y[(input + n) * p.yStride + row + r] =
                sumLanes(sums[r][n]) + (Format::kHasOffset ? offset[2 * r + 1] : 0.0F);
    }
}

template <typename Format, int Rows>
void multiplyRowGroup(const RowProduct& p, std::int64_t row)
{
    std::int64_t input = 0;
    for (; input + 2 <= p.numInputs; input += 2)
        multiplyTile<Format, Rows, 2>(p, row, input);
    if (input < p.numInputs)
        multiplyTile<Format, Rows, 1>(p, row, input);
}

template <typename Format>
void multiply(const RowProduct& p, std::int64_t firstRow, std::int64_t endRow)
{
    std::int64_t row = firstRow;
    for (; row + 4 <= endRow; row += 4)
        multiplyRowGroup<Format, 4>(p, row);
    for (; row < endRow; ++row)
        multiplyRowGroup<Format, 1>(p, row);
}

template <typename Format>
void decode(const std::byte* block, float* out, std::int64_t cols)
{
    for (std::int64_t col = 0; col < cols; col += kGroupSize, block += Format::kBytes) {
        const float scale = Format::scale(block);
        const float offset = Format::kHasOffset ? loadHalf(block + 2) : 0.0F;
        const float* const scales[2] = {&scale, &scale};
        const float* const offsets[2] = {&offset, &offset};
        storeGroup<Format>(Format::bytes(block), scales, offsets, out + col);
    }
}

template <typename Format>
constexpr FormatKernels kernelsOf(QuantizeRow quantize)
{
    return {decode<Format>, multiply<Format>, quantize};
}

} // namespace

constinit const FormatKernels kQ80 = kernelsOf<FormatQ80>(quantizeRow);
constinit const FormatKernels kQ40 = kernelsOf<FormatQ40>(quantizeRowEvenOdd);
constinit const FormatKernels kQ41 = kernelsOf<FormatQ41>(quantizeRowEvenOdd);
constinit const FormatKernels kQ50 = kernelsOf<FormatQ50>(quantizeRowEvenOdd);
constinit const FormatKernels kQ51 = kernelsOf<FormatQ51>(quantizeRowEvenOdd);
constinit const FormatKernels kIq4Nl = kernelsOf<FormatIq4Nl>(quantizeRowEvenOdd);
constinit const FormatKernels kMxfp4 = kernelsOf<FormatMxfp4>(quantizeRowEvenOdd);

} // namespace kvscope::avx2
