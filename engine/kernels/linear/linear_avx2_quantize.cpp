#include "engine/kernels/linear/linear_avx2.h"

#include <immintrin.h>

namespace kvscope::avx2 {

namespace {

constexpr std::int64_t kBlock = 32;
constexpr std::int32_t kInfinityBits = 0x7f800000;
constexpr float kNotANumber = __builtin_nanf("");

std::int32_t largestLane(__m256i v)
{
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return _mm_cvtsi128_si32(four);
}

std::int32_t sumLanes(__m256i v)
{
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return _mm_cvtsi128_si32(four);
}

// Magnitudes compare as integers, where a NaN is the largest of all and cannot be lost as in a
// float maximum.
std::int32_t largestMagnitudeBits(const __m256* x)
{
    const __m256i noSign = _mm256_set1_epi32(0x7fffffff);
    __m256i largest = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int i = 0; i < 4; ++i)
        largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(x[i]), noSign));
    return largestLane(largest);
}

// Rounds 16 floats to 16-bit integers in order.
__m256i roundToShorts(__m256 low, __m256 high, __m256 inverse)
{
    const __m256i packed = _mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(low, inverse)),
                                              _mm256_cvtps_epi32(_mm256_mul_ps(high, inverse)));
    return _mm256_permute4x64_epi64(packed, 0xd8); // packing works within halves of the register
}

// Of two times 16 integers the even ones of both, and the odd ones of both.
void splitEvenOdd(__m256i& low, __m256i& high)
{
    const __m256i lowEven = _mm256_srai_epi32(_mm256_slli_epi32(low, 16), 16);
    const __m256i highEven = _mm256_srai_epi32(_mm256_slli_epi32(high, 16), 16);
    const __m256i even = _mm256_packs_epi32(lowEven, highEven);
    const __m256i odd = _mm256_packs_epi32(_mm256_srai_epi32(low, 16), _mm256_srai_epi32(high, 16));
    low = _mm256_permute4x64_epi64(even, 0xd8);
    high = _mm256_permute4x64_epi64(odd, 0xd8);
}

/// 32 inputs as integers: 0, 2, ... 30, then 1, 3, ... 31.
struct QuantizedBlock
{
    __m256i even;
    __m256i odd;
    float scale;
    float scaledSum;
};

QuantizedBlock quantizeBlock(const float* x)
{
    const __m256 in[4] = {_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8), _mm256_loadu_ps(x + 16),
                          _mm256_loadu_ps(x + 24)};
    const std::int32_t bits = largestMagnitudeBits(in);
    const float largest = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits)));
    if (bits >= kInfinityBits || largest < kSmallestQuantizable) {
        const float scale = bits >= kInfinityBits ? kNotANumber : 0.0F;
        return {_mm256_setzero_si256(), _mm256_setzero_si256(), scale, scale};
    }
    const __m256 inverse = _mm256_set1_ps(kLargestQuantized / largest);
    __m256i low = roundToShorts(in[0], in[1], inverse);
    __m256i high = roundToShorts(in[2], in[3], inverse);
    splitEvenOdd(low, high);
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i pairs =
        _mm256_add_epi32(_mm256_madd_epi16(low, ones), _mm256_madd_epi16(high, ones));
    const float scale = largest / kLargestQuantized;
    return {low, high, scale, scale * static_cast<float>(sumLanes(pairs))};
}

void store(std::int16_t* to, __m256i numbers)
{
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), numbers);
}

// What the two orders of scales share: of each eight blocks all scales come first, then their sums.
// \param storeIntegers  called with (block, its number)
template <typename StoreIntegers>
void quantizeInEights(const float* x, std::int64_t cols, float* scaleAndSum,
                      StoreIntegers storeIntegers)
{
    constexpr std::int64_t kTogether = 8;
    const std::int64_t blocks = cols / kBlock;
    for (std::int64_t first = 0; first < blocks; first += kTogether) {
        const std::int64_t count = blocks - first < kTogether ? blocks - first : kTogether;
        for (std::int64_t i = 0; i < count; ++i) {
            const QuantizedBlock block = quantizeBlock(x + (first + i) * kBlock);
            storeIntegers(block, first + i);
            scaleAndSum[i] = block.scale;
            scaleAndSum[count + i] = block.scaledSum;
        }
        scaleAndSum += 2 * count;
    }
}

// Two blocks in the order of quantizeRowNibbles(), each quarter `stride` integers from the one
// before.
void storePair(const QuantizedBlock& first, const QuantizedBlock& second, std::int16_t* to,
               std::int64_t stride)
{
    store(to, _mm256_permute2x128_si256(first.even, second.even, 0x20));
    store(to + stride, _mm256_permute2x128_si256(first.even, second.even, 0x31));
    store(to + 2 * stride, _mm256_permute2x128_si256(first.odd, second.odd, 0x20));
    store(to + 3 * stride, _mm256_permute2x128_si256(first.odd, second.odd, 0x31));
}

// quantizeRowNibbles(), or quantizeRowNibbleFours().
template <bool InFours>
void quantizeNibbles(const float* x, std::int64_t cols, std::int16_t* quantized, float* scaleAndSum)
{
    const std::int64_t blocks = cols / kBlock;
    const std::int64_t inFours = blocks / 4 * 4;
    const auto keep = [&](const QuantizedBlock& block, std::int64_t number) {
        // Of four blocks the middle two change places.
        const std::int64_t within = number % 4;
        const bool moves = number < inFours && (within == 1 || within == 2);
        float* to = scaleAndSum + 2 * (moves ? number + 3 - 2 * within : number);
        to[0] = block.scale;
        to[1] = block.scaledSum;
    };
    std::int64_t number = 0;
    for (; number + 2 <= blocks; number += 2) {
        const QuantizedBlock first = quantizeBlock(x + number * kBlock);
        const QuantizedBlock second = quantizeBlock(x + (number + 1) * kBlock);
        if (InFours && number < inFours) // a pair is one half of each 64
            storePair(first, second, quantized + number / 4 * 4 * kBlock + number % 4 * 8, 32);
        else
            storePair(first, second, quantized + number * kBlock, 16);
        keep(first, number);
        keep(second, number + 1);
    }
    if (number == blocks)
        return;
    const QuantizedBlock last = quantizeBlock(x + number * kBlock);
    store(quantized + number * kBlock, last.even);
    store(quantized + number * kBlock + 16, last.odd);
    keep(last, number);
}

} // namespace

void quantizeRowEvenOdd(const float* x, std::int64_t cols, std::int16_t* quantized,
                        float* scaleAndSum)
{
    quantizeInEights(x, cols, scaleAndSum, [&](const QuantizedBlock& block, std::int64_t number) {
        store(quantized + number * kBlock, block.even);
        store(quantized + number * kBlock + 16, block.odd);
    });
}

void quantizeRowPairs(const float* x, std::int64_t cols, std::int16_t* quantized,
                      float* scaleAndSum)
{
    const std::int64_t inPairs = cols / kBlock / 2 * 2;
    quantizeInEights(x, cols, scaleAndSum, [&](const QuantizedBlock& block, std::int64_t number) {
        const bool isPaired = number < inPairs;
        std::int16_t* even =
            quantized + (isPaired ? number / 2 * 2 * kBlock + number % 2 * 16 : number * kBlock);
        store(even, block.even);
        store(even + (isPaired ? 32 : 16), block.odd);
    });
}

void quantizeRowNibbles(const float* x, std::int64_t cols, std::int16_t* quantized,
                        float* scaleAndSum)
{
    quantizeNibbles<false>(x, cols, quantized, scaleAndSum);
}

void quantizeRowNibbleFours(const float* x, std::int64_t cols, std::int16_t* quantized,
                            float* scaleAndSum)
{
    quantizeNibbles<true>(x, cols, quantized, scaleAndSum);
}

} // namespace kvscope::avx2
