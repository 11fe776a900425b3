#include "engine/kernels/linear_avx2.h"
#include "engine/kernels/linear_avx2_lanes.h"

#include <cstring>

namespace kvscope::avx2 {

namespace {

// How eight consecutive weights, or one, are read as float32.
struct FormatF32
{
    static constexpr std::int64_t kBytes = 4;
    static __m256 load8(const std::byte* at)
    {
        return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
    }
    static float load1(const std::byte* at)
    {
        float value = 0;
        std::memcpy(&value, at, sizeof(value));
        return value;
    }
};

struct FormatF16
{
    static constexpr std::int64_t kBytes = 2;
    static __m256 load8(const std::byte* at)
    {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
    }
    static float load1(const std::byte* at)
    {
        std::uint16_t bits = 0;
        std::memcpy(&bits, at, sizeof(bits));
        return _cvtsh_ss(bits);
    }
};

struct FormatBF16
{
    static constexpr std::int64_t kBytes = 2;
    static __m256 load8(const std::byte* at)
    {
        const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
    }
    static float load1(const std::byte* at)
    {
        std::uint32_t bits = 0;
        std::memcpy(reinterpret_cast<std::byte*>(&bits) + 2, at, 2);
        float value = 0;
        std::memcpy(&value, &bits, sizeof(value));
        return value;
    }
};

template <typename Format>
void decode(const std::byte* row, float* out, std::int64_t cols)
{
    std::int64_t i = 0;
    for (; i + 8 <= cols; i += 8)
        _mm256_storeu_ps(out + i, Format::load8(row + i * Format::kBytes));
    for (; i < cols; ++i)
        out[i] = Format::load1(row + i * Format::kBytes);
}

// Rows x Inputs dot products at once: each weight is read once for all inputs, each input once for
// all rows, and the sums do not wait for each other.
template <typename Format, int Rows, int Inputs>
void multiplyTile(const RowProduct& p, std::int64_t row, std::int64_t input)
{
    const std::byte* weight = p.weight + row * p.rowBytes;
    const float* x = p.x + input * p.cols;
    __m256 sums[Rows][Inputs];
#pragma GCC unroll 8
    for (auto& rowSums : sums)
#pragma GCC unroll 8
        for (auto& sum : rowSums)
            sum = _mm256_setzero_ps();
    std::int64_t i = 0;
    for (; i + 8 <= p.cols; i += 8) {
        prefetch<Rows * 8 * Format::kBytes>(weight + i * Rows * Format::kBytes, p.isStreamed);
        __m256 in[Inputs];
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n)
            in[n] = _mm256_loadu_ps(x + n * p.cols + i);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const __m256 w = Format::load8(weight + r * p.rowBytes + i * Format::kBytes);
#pragma GCC unroll 8
            for (int n = 0; n < Inputs; ++n)
                sums[r][n] = _mm256_fmadd_ps(w, in[n], sums[r][n]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n) {
            float sum = sumLanes(sums[r][n]);
            for (std::int64_t j = i; j < p.cols; ++j)
                sum +=
                    Format::load1(weight + r * p.rowBytes + j * Format::kBytes) * x[n * p.cols + j];
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

void copy(const std::byte* row, float* out, std::int64_t cols)
{
    std::memcpy(out, row, static_cast<std::size_t>(cols) * sizeof(float));
}

} // namespace

constinit const FormatKernels kF32{copy, multiply<FormatF32>, nullptr};
constinit const FormatKernels kF16{decode<FormatF16>, multiply<FormatF16>, nullptr};
constinit const FormatKernels kBF16{decode<FormatBF16>, multiply<FormatBF16>, nullptr};

} // namespace kvscope::avx2
