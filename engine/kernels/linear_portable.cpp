#include "engine/kernels/linear_portable.h"

#include "engine/kernels/block_formats.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace kvscope::portable {

namespace {

constexpr std::int64_t kBlock = 32;
// A slice of a row that is expanded at a time: on the stack and in the first cache.
constexpr std::int64_t kSlice = 512;

template <StorageType type>
void decode(const std::byte* row, float* out, std::int64_t cols)
{
    decodeRow(type, row, out, cols);
}

float dot(const float* a, const float* b, std::int64_t count)
{
    // Four sums, so that one addition need not wait for the one before.
    float sums[4] = {};
    std::int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (int lane = 0; lane < 4; ++lane)
            sums[lane] += a[i + lane] * b[i + lane];
    }
    for (; i < count; ++i)
        sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <StorageType type>
void multiplyFloats(const RowProduct& p, std::int64_t firstRow, std::int64_t endRow)
{
    float slice[kSlice];
    for (std::int64_t row = firstRow; row < endRow; ++row) {
        for (std::int64_t n = 0; n < p.numInputs; ++n)
            p.y[n * p.yStride + row] = 0;
        for (std::int64_t col = 0; col < p.cols; col += kSlice) {
            const std::int64_t count = std::min(kSlice, p.cols - col);
            decodeRow(type, p.weight + row * p.rowBytes + bytesPerRow(type, col), slice, count);
            for (std::int64_t n = 0; n < p.numInputs; ++n)
                p.y[n * p.yStride + row] += dot(slice, p.x + n * p.cols + col, count);
        }
    }
}

template <StorageType type>
void multiplyBlocks(const RowProduct& p, std::int64_t firstRow, std::int64_t endRow)
{
    const std::int64_t numBlocks = p.cols / kBlock;
    std::int8_t weights[kBlock];
    for (std::int64_t row = firstRow; row < endRow; ++row) {
        for (std::int64_t n = 0; n < p.numInputs; ++n)
            p.y[n * p.yStride + row] = 0;
        for (std::int64_t block = 0; block < numBlocks; ++block) {
            const auto factors =
                readBlock(type, p.weight + row * p.rowBytes + block * blockBytes(type), weights);
            for (std::int64_t n = 0; n < p.numInputs; ++n) {
                const std::int16_t* x = p.quantized + n * p.cols + block * kBlock;
                const float* scaleAndSum = p.scaleAndSum + 2 * (n * numBlocks + block);
                std::int32_t sum = 0;
                for (std::int64_t i = 0; i < kBlock; ++i)
                    sum += std::int32_t{weights[i]} * std::int32_t{x[i]};
                p.y[n * p.yStride + row] +=
                    factors.scale * scaleAndSum[0] * static_cast<float>(sum) +
                    factors.offset * scaleAndSum[1];
            }
        }
    }
}

template <StorageType type>
constexpr FormatKernels kFloats{decode<type>, multiplyFloats<type>, nullptr};
template <StorageType type>
constexpr FormatKernels kBlocks{decode<type>, multiplyBlocks<type>, quantizeRow};

void quantizeBlock(const float* x, std::int16_t* quantized, float* scaleAndSum)
{
    float largest = 0;
    bool isFinite = true;
    for (std::int64_t i = 0; i < kBlock; ++i) {
        largest = std::max(largest, std::abs(x[i]));
        isFinite = isFinite && std::isfinite(x[i]);
    }
    const bool isZero = !isFinite || largest < kSmallestQuantizable;
    const float inverse = isZero ? 0.0F : kLargestQuantized / largest;
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < kBlock; ++i) {
        quantized[i] =
            isZero ? std::int16_t{0} : static_cast<std::int16_t>(std::lrint(x[i] * inverse));
        sum += quantized[i];
    }
    scaleAndSum[0] = !isFinite ? std::numeric_limits<float>::quiet_NaN()
                     : isZero  ? 0.0F
                               : largest / kLargestQuantized;
    scaleAndSum[1] = scaleAndSum[0] * static_cast<float>(sum);
}

} // namespace

FormatKernels formatKernels(StorageType type)
{
    switch (type) {
    case StorageType::F32:
        return kFloats<StorageType::F32>;
    case StorageType::F16:
        return kFloats<StorageType::F16>;
    case StorageType::BF16:
        return kFloats<StorageType::BF16>;
    case StorageType::Q8_0:
        return kBlocks<StorageType::Q8_0>;
    case StorageType::Q4_0:
        return kBlocks<StorageType::Q4_0>;
    case StorageType::Q4_1:
        return kBlocks<StorageType::Q4_1>;
    default:
        TORCH_CHECK(false, "linear: no weight type ", storageName(type));
    }
}

void quantizeRow(const float* x, std::int64_t cols, std::int16_t* quantized, float* scaleAndSum)
{
    for (std::int64_t first = 0; first < cols; first += kBlock, scaleAndSum += 2)
        quantizeBlock(x + first, quantized + first, scaleAndSum);
}

} // namespace kvscope::portable
