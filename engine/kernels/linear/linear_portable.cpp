#include "engine/kernels/linear/linear_portable.h"

#include "engine/kernels/linear/block_formats.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace kvscope::portable {

namespace {

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

// A group times one block of inputs; both halves apart, as their factors may differ.
float groupDot(const GroupFactors& factors, const std::int8_t* weights, const std::int16_t* x,
               bool addsOffsets)
{
    constexpr std::int64_t kHalf = kGroup / 2;
    float dot = 0;
    for (std::int64_t half = 0; half < 2; ++half) {
        std::int32_t products = 0;
        std::int32_t inputs = 0;
        for (std::int64_t i = half * kHalf; i < (half + 1) * kHalf; ++i) {
            products += std::int32_t{weights[i]} * std::int32_t{x[i]};
            inputs += x[i];
        }
        dot += factors.scales[half] * static_cast<float>(products);
        if (addsOffsets)
            dot += factors.offsets[half] * static_cast<float>(inputs);
    }
    return dot;
}

template <StorageType type>
void multiplyBlocks(const RowProduct& p, std::int64_t firstRow, std::int64_t endRow)
{
    const std::int64_t numGroups = p.cols / kGroup;
    std::int8_t weights[kGroup];
    for (std::int64_t row = firstRow; row < endRow; ++row) {
        for (std::int64_t n = 0; n < p.numInputs; ++n)
            p.y[n * p.yStride + row] = 0;
        for (std::int64_t group = 0; group < numGroups; ++group) {
            const auto factors = readGroup(type, p.weight + row * p.rowBytes, group, weights);
            for (std::int64_t n = 0; n < p.numInputs; ++n) {
                const float scale = p.scaleAndSum[2 * (n * numGroups + group)];
                p.y[n * p.yStride + row] +=
                    scale * groupDot(factors, weights, p.quantized + n * p.cols + group * kGroup,
                                     hasOffsets(type));
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
    for (std::int64_t i = 0; i < kGroup; ++i) {
        largest = std::max(largest, std::abs(x[i]));
        isFinite = isFinite && std::isfinite(x[i]);
    }
    const bool isZero = !isFinite || largest < kSmallestQuantizable;
    const float inverse = isZero ? 0.0F : kLargestQuantized / largest;
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < kGroup; ++i) {
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
    case StorageType::Q5_0:
        return kBlocks<StorageType::Q5_0>;
    case StorageType::Q5_1:
        return kBlocks<StorageType::Q5_1>;
    case StorageType::IQ4_NL:
        return kBlocks<StorageType::IQ4_NL>;
    case StorageType::MXFP4:
        return kBlocks<StorageType::MXFP4>;
    case StorageType::Q2_K:
        return kBlocks<StorageType::Q2_K>;
    case StorageType::Q3_K:
        return kBlocks<StorageType::Q3_K>;
    case StorageType::Q4_K:
        return kBlocks<StorageType::Q4_K>;
    case StorageType::Q5_K:
        return kBlocks<StorageType::Q5_K>;
    case StorageType::Q6_K:
        return kBlocks<StorageType::Q6_K>;
    case StorageType::Q8_K:
        return kBlocks<StorageType::Q8_K>;
    case StorageType::IQ4_XS:
        return kBlocks<StorageType::IQ4_XS>;
    default:
        TORCH_CHECK(false, "linear: no weight type ", storageName(type));
    }
}

void quantizeRow(const float* x, std::int64_t cols, std::int16_t* quantized, float* scaleAndSum)
{
    for (std::int64_t first = 0; first < cols; first += kGroup, scaleAndSum += 2)
        quantizeBlock(x + first, quantized + first, scaleAndSum);
}

} // namespace kvscope::portable
