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

// A block's 32 integers in order, 16 bits each.
struct Integers
{
    __m256i low;
    __m256i high;
};

__m128i load16Bytes(const std::byte* at)
{
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

// Low nibbles are elements 0 to 15, high ones 16 to 31.
struct Nibbles
{
    __m128i low;
    __m128i high;
};

Nibbles loadNibbles(const std::byte* at)
{
    const __m128i pairs = load16Bytes(at);
    const __m128i mask = _mm_set1_epi8(15);
    return {_mm_and_si128(pairs, mask), _mm_and_si128(_mm_srli_epi16(pairs, 4), mask)};
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
        const auto [low, high] = loadNibbles(block + 2);
        const __m128i eight = _mm_set1_epi8(8);
        return {_mm256_cvtepi8_epi16(_mm_sub_epi8(low, eight)),
                _mm256_cvtepi8_epi16(_mm_sub_epi8(high, eight))};
    }
};

struct FormatQ41
{
    static constexpr std::int64_t kBytes = 20;
    static constexpr bool kHasOffset = true;
    static Integers integers(const std::byte* block)
    {
        const auto [low, high] = loadNibbles(block + 4);
        return {_mm256_cvtepu8_epi16(low), _mm256_cvtepu8_epi16(high)};
    }
};

void storeDecoded(__m256i integers, __m256 scale, __m256 offset, bool hasOffset, float* out)
{
    const __m128i halves[2] = {_mm256_castsi256_si128(integers),
                               _mm256_extracti128_si256(integers, 1)};
    for (int half = 0; half < 2; ++half) {
        // The product is exact (8 by 11 bits), so fusing the addition would change nothing.
        const __m256 product =
            _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(halves[half])), scale);
        _mm256_storeu_ps(out + 8 * half, hasOffset ? _mm256_add_ps(product, offset) : product);
    }
}

template <typename Format>
void decode(const std::byte* row, float* out, std::int64_t cols)
{
    for (std::int64_t first = 0; first < cols; first += kBlock, row += Format::kBytes) {
        const Integers integers = Format::integers(row);
        const __m256 scale = _mm256_set1_ps(loadHalf(row));
        const __m256 offset = _mm256_set1_ps(Format::kHasOffset ? loadHalf(row + 2) : 0.0F);
        storeDecoded(integers.low, scale, offset, Format::kHasOffset, out + first);
        storeDecoded(integers.high, scale, offset, Format::kHasOffset, out + first + 16);
    }
}

// One sum of scaled integer products, and where the format has offsets one of offset * sum(x).
struct Sums
{
    __m256 products = _mm256_setzero_ps();
    __m128 offsets = _mm_setzero_ps(); // lane 1
};

template <typename Format>
void addBlock(Sums& sums, const std::byte* block, const Integers& weights, const std::int16_t* x,
              const float* scaleAndSum)
{
    const auto* values = reinterpret_cast<const __m256i*>(x);
    const __m256i integers =
        _mm256_add_epi32(_mm256_madd_epi16(weights.low, _mm256_loadu_si256(values)),
                         _mm256_madd_epi16(weights.high, _mm256_loadu_si256(values + 1)));
    __m256 scale;
    if constexpr (Format::kHasOffset) {
        // Lane 0 is scale times scale, lane 1 offset times sum, both float16 read in one load.
        std::uint32_t bits = 0;
        std::memcpy(&bits, block, sizeof(bits));
        std::uint64_t pair = 0;
        std::memcpy(&pair, scaleAndSum, sizeof(pair));
        const __m128 factors =
            _mm_mul_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(bits))),
                       _mm_castsi128_ps(_mm_cvtsi64_si128(static_cast<long long>(pair))));
        sums.offsets = _mm_add_ps(sums.offsets, factors);
        scale = _mm256_broadcastss_ps(factors);
    } else {
        scale = _mm256_set1_ps(loadHalf(block) * scaleAndSum[0]);
    }
    sums.products = _mm256_fmadd_ps(_mm256_cvtepi32_ps(integers), scale, sums.products);
}

// Rows x Inputs dot products at once: a block's integers serve all inputs, an input all rows, and
// the sums do not wait for each other.
template <typename Format, int Rows, int Inputs>
void multiplyTile(const RowProduct& p, std::int64_t row, std::int64_t input)
{
    const std::int64_t numBlocks = p.cols / kBlock;
    const std::byte* weight = p.weight + row * p.rowBytes;
    const std::int16_t* x = p.quantized + input * p.cols;
    const float* scaleAndSum = p.scaleAndSum + input * numBlocks * 2;
    Sums sums[Rows][Inputs];
    for (std::int64_t b = 0; b < numBlocks; ++b) {
        for (int r = 0; r < Rows; ++r) {
            const std::byte* block = weight + r * p.rowBytes + b * Format::kBytes;
            const Integers integers = Format::integers(block);
            for (int n = 0; n < Inputs; ++n)
                addBlock<Format>(sums[r][n], block, integers, x + n * p.cols + b * kBlock,
                                 scaleAndSum + (n * numBlocks + b) * 2);
        }
    }
    for (int r = 0; r < Rows; ++r) {
        for (int n = 0; n < Inputs; ++n) {
            float sum = sumLanes(sums[r][n].products);
            if constexpr (Format::kHasOffset)
                sum += _mm_cvtss_f32(_mm_movehdup_ps(sums[r][n].offsets));
            p.y[(input + n) * p.yStride + row + r] = sum;
        }
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
    decode<FormatQ80>(row, out, cols);
}

void decodeQ40(const std::byte* row, float* out, std::int64_t cols)
{
    decode<FormatQ40>(row, out, cols);
}

void decodeQ41(const std::byte* row, float* out, std::int64_t cols)
{
    decode<FormatQ41>(row, out, cols);
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
