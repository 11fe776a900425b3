#include "engine/kernels/linear_avx2.h"
#include "engine/kernels/linear_avx2_lanes.h"

#include <cstring>

namespace kvscope::avx2 {

namespace {

constexpr std::int64_t kBlock = 32;

float loadHalf(const std::byte* at)
{
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof(bits));
    return _cvtsh_ss(bits);
}

__m128i load16Bytes(const std::byte* at)
{
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

// A block's integers, 16 bits each. Of 8-bit blocks in order; of 4-bit blocks the even elements of
// both halves (0, 2, ... 14, 16, 18, ... 30), then the odd ones, which takes half the work and is
// the order of quantizeRowEvenOdd().
struct Integers
{
    __m256i first;
    __m256i second;
};

Integers loadNibbles(const std::byte* at)
{
    // Byte i holds element i in its low and i + 16 in its high nibble: a copy in each half of the
    // register, the upper one shifted down. Then byte 2 i is an even element and byte 2 i + 1 an
    // odd one.
    const __m256i copies = _mm256_broadcastsi128_si256(load16Bytes(at));
    const __m256i lowered = _mm256_srlv_epi32(copies, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4));
    const __m256i mask = _mm256_set1_epi16(15);
    return {_mm256_and_si256(lowered, mask), _mm256_and_si256(_mm256_srli_epi16(lowered, 8), mask)};
}

struct FormatQ80
{
    static constexpr std::int64_t kBytes = 34;
    static constexpr bool kHasOffset = false;
    static Integers integers(const std::byte* block)
    {
        return {_mm256_cvtepi8_epi16(load16Bytes(block + 2)),
                _mm256_cvtepi8_epi16(load16Bytes(block + 18))};
    }
};

struct FormatQ40
{
    static constexpr std::int64_t kBytes = 18;
    static constexpr bool kHasOffset = false;
    static Integers integers(const std::byte* block)
    {
        const auto [even, odd] = loadNibbles(block + 2);
        const __m256i eight = _mm256_set1_epi16(8);
        return {_mm256_sub_epi16(even, eight), _mm256_sub_epi16(odd, eight)};
    }
};

struct FormatQ41
{
    static constexpr std::int64_t kBytes = 20;
    static constexpr bool kHasOffset = true;
    static Integers integers(const std::byte* block) { return loadNibbles(block + 4); }
};

// Sixteen 8-bit integers times scale, plus offset, to out.
template <bool HasOffset>
void storeDecoded(__m128i integers, __m256 scale, __m256 offset, float* out)
{
    const __m128i halves[2] = {integers, _mm_unpackhi_epi64(integers, integers)};
    for (int half = 0; half < 2; ++half) {
        // The product is exact (8 by 11 bits), so fusing the addition would change nothing.
        const __m256 product =
            _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(halves[half])), scale);
        _mm256_storeu_ps(out + 8 * half, HasOffset ? _mm256_add_ps(product, offset) : product);
    }
}

// 4-bit blocks: `zero` is taken from each nibble.
template <typename Format>
void decodeNibbles(const std::byte* row, float* out, std::int64_t cols, int zero)
{
    constexpr std::int64_t kHeader = Format::kBytes - kBlock / 2;
    const __m128i mask = _mm_set1_epi8(15);
    const __m128i zeros = _mm_set1_epi8(static_cast<char>(zero));
    for (std::int64_t first = 0; first < cols; first += kBlock, row += Format::kBytes) {
        const __m128i pairs = load16Bytes(row + kHeader);
        const __m128i low = _mm_and_si128(pairs, mask);
        const __m128i high = _mm_and_si128(_mm_srli_epi16(pairs, 4), mask);
        const __m256 scale = _mm256_set1_ps(loadHalf(row));
        const __m256 offset = _mm256_set1_ps(Format::kHasOffset ? loadHalf(row + 2) : 0.0F);
        storeDecoded<Format::kHasOffset>(_mm_sub_epi8(low, zeros), scale, offset, out + first);
        storeDecoded<Format::kHasOffset>(_mm_sub_epi8(high, zeros), scale, offset,
                                         out + first + 16);
    }
}

// The first four bytes of one block of each row, two float16 a row (scale, and offset or what
// follows), times the (scale, sum) of each input: the factors of row r are elements 2 r and 2 r
// + 1.
template <int Rows, int Inputs>
struct Factors
{
    alignas(32) float of[Inputs][8];

    Factors(const std::byte* block, std::int64_t rowBytes, const float* scaleAndSum,
            std::int64_t inputStride, __m256* offsets)
    {
        __m128i halves = _mm_loadu_si32(block);
        if constexpr (Rows == 4) {
            // One conversion and one product for four rows; broadcasting them from memory is then
            // free.
            halves = _mm_insert_epi32(halves, loadInt(block + rowBytes), 1);
            halves = _mm_insert_epi32(halves, loadInt(block + 2 * rowBytes), 2);
            halves = _mm_insert_epi32(halves, loadInt(block + 3 * rowBytes), 3);
        }
        const __m256 stored = _mm256_cvtph_ps(halves);
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n) {
            const __m256 product = _mm256_mul_ps(stored, loadPair(scaleAndSum + n * inputStride));
            _mm256_store_ps(of[n], product);
            offsets[n] = _mm256_add_ps(offsets[n], product);
        }
    }
    static int loadInt(const std::byte* at)
    {
        int bits = 0;
        std::memcpy(&bits, at, sizeof(bits));
        return bits;
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
    const std::int64_t numBlocks = p.cols / kBlock;
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
        const Factors<Rows, Inputs> factors(block, p.rowBytes, scaleAndSum + 2 * b, 2 * numBlocks,
                                            offsets);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const Integers weights = Format::integers(block + r * p.rowBytes);
#pragma GCC unroll 8
            for (int n = 0; n < Inputs; ++n) {
                const auto* values = reinterpret_cast<const __m256i*>(x + n * p.cols + b * kBlock);
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

} // namespace

void decodeQ80(const std::byte* row, float* out, std::int64_t cols)
{
    for (std::int64_t first = 0; first < cols; first += kBlock, row += FormatQ80::kBytes) {
        const __m256 scale = _mm256_set1_ps(loadHalf(row));
        storeDecoded<false>(load16Bytes(row + 2), scale, scale, out + first);
        storeDecoded<false>(load16Bytes(row + 18), scale, scale, out + first + 16);
    }
}

void decodeQ40(const std::byte* row, float* out, std::int64_t cols)
{
    decodeNibbles<FormatQ40>(row, out, cols, 8);
}

void decodeQ41(const std::byte* row, float* out, std::int64_t cols)
{
    decodeNibbles<FormatQ41>(row, out, cols, 0);
}

void multiplyQ80(const RowProduct& product, std::int64_t firstRow, std::int64_t endRow)
{
    multiply<FormatQ80>(product, firstRow, endRow);
}

void multiplyQ40(const RowProduct& product, std::int64_t firstRow, std::int64_t endRow)
{
    multiply<FormatQ40>(product, firstRow, endRow);
}

void multiplyQ41(const RowProduct& product, std::int64_t firstRow, std::int64_t endRow)
{
    multiply<FormatQ41>(product, firstRow, endRow);
}

} // namespace kvscope::avx2
