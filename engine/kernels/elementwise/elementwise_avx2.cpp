#include "engine/kernels/elementwise/elementwise_avx2.h"

#include "engine/kernels/linear/linear_avx2_lanes.h"

#include <cstring>

namespace kvscope {

namespace {

float sumOfSquares(const float* x, std::int64_t width)
{
    __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                      _mm256_setzero_ps()};
    std::int64_t i = 0;
    for (; i + 32 <= width; i += 32) {
#pragma GCC unroll 8
        for (int lane = 0; lane < 4; ++lane) {
            const __m256 v = _mm256_loadu_ps(x + i + 8 * lane);
            sums[lane] = _mm256_fmadd_ps(v, v, sums[lane]);
        }
    }
    float sum = sumOf(
        _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
    for (; i < width; ++i)
        sum += x[i] * x[i];
    return sum;
}

void rmsNormRow(const float* x, const float* gain, float epsilon, float* out, std::int64_t width)
{
    const float meanSquare = sumOfSquares(x, width) / static_cast<float>(width);
    const float inverse = 1.0F / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(meanSquare + epsilon)));
    const __m256 factor = _mm256_set1_ps(inverse);
    std::int64_t i = 0;
    for (; i + 8 <= width; i += 8) {
        const __m256 normed = _mm256_mul_ps(_mm256_loadu_ps(x + i), factor);
        _mm256_storeu_ps(out + i, _mm256_mul_ps(normed, _mm256_loadu_ps(gain + i)));
    }
    for (; i < width; ++i)
        out[i] = x[i] * inverse * gain[i];
}

void rotatePair(float& first, float& second, float cos, float sin)
{
    const float a = first;
    const float b = second;
    first = a * cos - b * sin;
    second = a * sin + b * cos;
}

// Four table entries, each twice: c0 c0 c1 c1 c2 c2 c3 c3.
__m256 loadDoubled(const float* table)
{
    const __m256i order = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(table)), order);
}

void rotateAdjacent(float* head, const float* cos, const float* sin, std::int64_t numPairs)
{
    std::int64_t i = 0;
    for (; i + 4 <= numPairs; i += 4) {
        const __m256 v = _mm256_loadu_ps(head + 2 * i);
        const __m256 swapped = _mm256_permute_ps(v, 0xb1);
        // Even lanes subtract, odd lanes add.
        const __m256 rotated = _mm256_fmaddsub_ps(v, loadDoubled(cos + i),
                                                  _mm256_mul_ps(swapped, loadDoubled(sin + i)));
        _mm256_storeu_ps(head + 2 * i, rotated);
    }
    for (; i < numPairs; ++i)
        rotatePair(head[2 * i], head[2 * i + 1], cos[i], sin[i]);
}

void rotateHalf(float* head, const float* cos, const float* sin, std::int64_t numPairs)
{
    float* second = head + numPairs;
    std::int64_t i = 0;
    for (; i + 8 <= numPairs; i += 8) {
        const __m256 a = _mm256_loadu_ps(head + i);
        const __m256 b = _mm256_loadu_ps(second + i);
        const __m256 c = _mm256_loadu_ps(cos + i);
        const __m256 s = _mm256_loadu_ps(sin + i);
        _mm256_storeu_ps(head + i, _mm256_fmsub_ps(a, c, _mm256_mul_ps(b, s)));
        _mm256_storeu_ps(second + i, _mm256_fmadd_ps(a, s, _mm256_mul_ps(b, c)));
    }
    for (; i < numPairs; ++i)
        rotatePair(head[i], second[i], cos[i], sin[i]);
}

// e^x within 2e-7 relative, x first limited to [-87, 88] so that neither the result nor 2^n leaves
// the normal floats. x = n ln 2 + r, |r| <= ln(2) / 2; then the Taylor series of e^r to r^7, whose
// remainder is 5e-9.
__m256 exponential(__m256 x)
{
    x = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-87.0F)), _mm256_set1_ps(88.0F));
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504F)), // log2(e)
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    // ln 2 in two parts, the first of few enough bits that n times it is exact.
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), r);
    constexpr float kInverseFactorials[] = {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6,
                                            0.5F,       1.0F,       1.0F};
    __m256 series = _mm256_set1_ps(1.0F / 5040);
#pragma GCC unroll 8
    for (const float coefficient : kInverseFactorials)
        series = _mm256_fmadd_ps(series, r, _mm256_set1_ps(coefficient));
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_mul_ps(series, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}

/// x sigmoid(z)
__m256 timesSigmoid(__m256 x, __m256 z)
{
    const __m256 e = exponential(_mm256_sub_ps(_mm256_setzero_ps(), z));
    return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0F), e));
}

__m256 siluTimes(__m256 gate, __m256 up)
{
    return _mm256_mul_ps(timesSigmoid(gate, gate), up);
}

__m256 geluTanhTimes(__m256 gate, __m256 up)
{
    // (1 + tanh(z)) / 2 is sigmoid(2z)
    const __m256 cubic = _mm256_mul_ps(_mm256_mul_ps(gate, gate),
                                       _mm256_mul_ps(gate, _mm256_set1_ps(kGeluTanhCubic)));
    const __m256 z = _mm256_mul_ps(_mm256_add_ps(gate, cubic), _mm256_set1_ps(2 * kGeluTanhFactor));
    return _mm256_mul_ps(timesSigmoid(gate, z), up);
}

__m256 clampedSiluTimes(__m256 gate, __m256 up)
{
    const __m256 limit = _mm256_set1_ps(kGateLimit);
    // A NaN in the second operand comes through min and max.
    const __m256 g = _mm256_min_ps(limit, gate);
    const __m256 u = _mm256_max_ps(_mm256_set1_ps(-kGateLimit), _mm256_min_ps(limit, up));
    return _mm256_mul_ps(timesSigmoid(g, _mm256_mul_ps(g, _mm256_set1_ps(kGateAlpha))),
                         _mm256_add_ps(u, _mm256_set1_ps(1.0F)));
}

template <__m256 (*Gate)(__m256 gate, __m256 up)>
void gatedRow(const float* gate, const float* up, float* out, std::int64_t count)
{
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(out + i, Gate(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i)));
    if (i == count)
        return;
    // The rest goes through a full register, so that an element's value does not depend on its
    // place.
    const auto bytes = static_cast<std::size_t>(count - i) * sizeof(float);
    float rest[2][8] = {};
    std::memcpy(rest[0], gate + i, bytes);
    std::memcpy(rest[1], up + i, bytes);
    _mm256_storeu_ps(rest[0], Gate(_mm256_loadu_ps(rest[0]), _mm256_loadu_ps(rest[1])));
    std::memcpy(out + i, rest[0], bytes);
}

} // namespace

const ElementwiseKernels& avx2ElementwiseKernels()
{
    static constexpr ElementwiseKernels kKernels{
        rmsNormRow,          rotateAdjacent,          rotateHalf,
        gatedRow<siluTimes>, gatedRow<geluTanhTimes>, gatedRow<clampedSiluTimes>};
    return kKernels;
}

} // namespace kvscope
