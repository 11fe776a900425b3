#pragma once

// linear()'s loops over float formats, for any width of vector; included by linear_avx2_floats.cpp
// and linear_avx512_floats.cpp alone.

#include "engine/kernels/linear/linear_avx2_lanes.h"
#include "engine/kernels/linear/linear_kernels.h"
#include "engine/kernels/simd_lanes.h"

namespace kvscope {
namespace {

/// One element as float32.
template <typename Element>
KVSCOPE_INLINE float loadOne(const Element* from)
{
    return loadPart(from, 1)[0];
}

KVSCOPE_INLINE float loadOne(const float* from)
{
    float value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}

template <typename Element>
void decodeFloats(const std::byte* row, float* out, std::int64_t cols)
{
    const auto* from = reinterpret_cast<const Element*>(row);
    std::int64_t i = 0;
    for (; i + kLanes <= cols; i += kLanes)
        store(out + i, load(from + i));
    for (; i < cols; ++i)
        out[i] = loadOne(from + i);
}

// Rows x Inputs dot products at once: each weight is read once for all inputs, each input once for
// all rows, and the sums do not wait for each other.
template <typename Element, int Rows, int Inputs>
void multiplyTile(const RowProduct& p, std::int64_t row, std::int64_t input)
{
    const std::byte* weight = p.weight + row * p.rowBytes;
    const float* x = p.x + input * p.cols;
    Lanes sums[Rows][Inputs];
#pragma GCC unroll 8
    for (auto& rowSums : sums)
#pragma GCC unroll 8
        for (auto& sum : rowSums)
            sum = Lanes{};
    std::int64_t i = 0;
    for (; i + kLanes <= p.cols; i += kLanes) {
        avx2::prefetch<Rows * kLanes * sizeof(Element)>(
            weight + i * Rows * static_cast<std::int64_t>(sizeof(Element)), p.isStreamed);
        Lanes in[Inputs];
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n)
            in[n] = load(x + n * p.cols + i);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const Lanes w = load(reinterpret_cast<const Element*>(weight + r * p.rowBytes) + i);
#pragma GCC unroll 8
            for (int n = 0; n < Inputs; ++n)
                sums[r][n] += w * in[n];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
        for (int n = 0; n < Inputs; ++n) {
            float sum = sumOf(sums[r][n]);
            for (std::int64_t j = i; j < p.cols; ++j)
                sum += loadOne(reinterpret_cast<const Element*>(weight + r * p.rowBytes) + j) *
                       x[n * p.cols + j];
            p.y[(input + n) * p.yStride + row + r] = sum;
        }
    }
}

/// Rows x Inputs dot products, each in several sums that do not wait for each other, so that one
/// alone is as many.
template <typename Element, int Rows, int Inputs>
void multiplyInSums(const RowProduct& p, std::int64_t row, std::int64_t input)
{
    constexpr int kSums = 4;
    constexpr std::int64_t kStep = kSums * kLanes;
    constexpr std::int64_t kBytes = sizeof(Element);
    const std::byte* weight = p.weight + row * p.rowBytes;
    const float* x = p.x + input * p.cols;
    const auto at = [&](int r, std::int64_t col) {
        return reinterpret_cast<const Element*>(weight + r * p.rowBytes) + col;
    };
    Lanes sums[Rows][Inputs][kSums] = {};
    std::int64_t i = 0;
    for (; i + kStep <= p.cols; i += kStep) {
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r)
            avx2::prefetch<kStep * kBytes>(weight + r * p.rowBytes + i * kBytes, p.isStreamed);
#pragma GCC unroll 4
        for (int s = 0; s < kSums; ++s)
#pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) {
                const Lanes w = load(at(r, i + s * kLanes));
#pragma GCC unroll 4
                for (int n = 0; n < Inputs; ++n)
                    sums[r][n][s] += w * load(x + n * p.cols + i + s * kLanes);
            }
    }
    for (; i + kLanes <= p.cols; i += kLanes)
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) {
            const Lanes w = load(at(r, i));
#pragma GCC unroll 4
            for (int n = 0; n < Inputs; ++n)
                sums[r][n][0] += w * load(x + n * p.cols + i);
        }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
        for (int n = 0; n < Inputs; ++n) {
            const Lanes* of = sums[r][n];
            float sum = sumOf((of[0] + of[1]) + (of[2] + of[3]));
            for (std::int64_t j = i; j < p.cols; ++j)
                sum += loadOne(at(r, j)) * x[n * p.cols + j];
            p.y[(input + n) * p.yStride + row + r] = sum;
        }
}

template <typename Element, int Rows>
void multiplyRowGroup(const RowProduct& p, std::int64_t row)
{
    const auto multiply = [&]<int Inputs>(std::int64_t input) {
        if constexpr (kLanes == 16)
            multiplyInSums<Element, Rows, Inputs>(p, row, input);
        else
            multiplyTile<Element, Rows, Inputs>(p, row, input);
    };
    std::int64_t input = 0;
    for (; input + 2 <= p.numInputs; input += 2)
        multiply.template operator()<2>(input);
    if (input < p.numInputs)
        multiply.template operator()<1>(input);
}

/// With AVX-512 rows go one by one where there is one input. Side by side they save what a row's
/// end takes, but the hardware's prefetching follows them worse: on Zen 5, out of cache, four rows
/// of 576, 768 and 2,048 bfloat16 reached 0.95, 0.9 and 0.7 of the bandwidth where rows one by one
/// reach it all. With AVX2 (Zen 2) four rows were the faster way.
template <typename Element>
void multiplyFloats(const RowProduct& p, std::int64_t firstRow, std::int64_t endRow)
{
    constexpr int kTogether = kLanes == 16 ? 2 : 4;
    std::int64_t row = firstRow;
    if (kLanes != 16 || p.numInputs > 1)
        for (; row + kTogether <= endRow; row += kTogether)
            multiplyRowGroup<Element, kTogether>(p, row);
    for (; row < endRow; ++row)
        multiplyRowGroup<Element, 1>(p, row);
}

template <typename Element>
constexpr FormatKernels floatKernels()
{
    return {decodeFloats<Element>, multiplyFloats<Element>, nullptr};
}

} // namespace
} // namespace kvscope
