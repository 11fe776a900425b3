#pragma once

// PrefillSimd in float32; included by attention_plain.cpp, attention_avx2.cpp and
// attention_avx512.cpp alone.
//
// Queries lie side by side in the lanes, so that keys and values are used in their own order (one
// element broadcast at a time), and the softmax runs down columns without sums across lanes.

#include "engine/kernels/attention/attention_scores_simd.h"

namespace kvscope {
namespace {

/// scores[k][0 .. kPanel) = keys[k] . the panel's queries. 12 sums, 2 queries and a key fill 16
/// registers; the 32 of AVX-512 were left half empty, since 12 sums keep its units at work.
template <int Keys>
KVSCOPE_INLINE void scorePanel(const PrefillBlock& block, const float* keys, const float* q,
                               float* scores)
{
    Lanes sums[Keys][2];
#pragma GCC unroll 6
    for (auto& key : sums)
        key[0] = key[1] = Lanes{};
    for (std::int64_t d = 0; d < block.headDim; ++d) {
        const Lanes q0 = load(q + d * kPanel);
        const Lanes q1 = load(q + d * kPanel + kLanes);
#pragma GCC unroll 6
        for (int k = 0; k < Keys; ++k) {
            const Lanes key = broadcast(keys[k * block.keyStride + d]);
            sums[k][0] += key * q0;
            sums[k][1] += key * q1;
        }
    }
#pragma GCC unroll 6
    for (int k = 0; k < Keys; ++k) {
        store(scores + k * block.numRows, sums[k][0]);
        store(scores + k * block.numRows + kLanes, sums[k][1]);
    }
}

/// acc[r][0 .. kPanel) = alpha[r] * acc[r] + sum over k of weights[k][r] * values[k].
template <int Rows>
KVSCOPE_INLINE void valuePanel(const PrefillBlock& block, const float* weights, const float* values,
                               const float* alpha, float* acc)
{
    const auto accStride = block.state.accStride;
    Lanes sums[Rows][2];
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
        sums[r][0] = load(acc + r * accStride) * alpha[r];
        sums[r][1] = load(acc + r * accStride + kLanes) * alpha[r];
    }
    for (int k = 0; k < block.numKeys; ++k) {
        const Lanes v0 = load(values + k * block.valueStride);
        const Lanes v1 = load(values + k * block.valueStride + kLanes);
#pragma GCC unroll 6
        for (int r = 0; r < Rows; ++r) {
            const Lanes weight = broadcast(weights[k * block.numRows + r]);
            sums[r][0] += weight * v0;
            sums[r][1] += weight * v1;
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
        store(acc + r * accStride, sums[r][0]);
        store(acc + r * accStride + kLanes, sums[r][1]);
    }
}

/// Calls work.operator()<N>(first) for groups of six, then for what is left.
template <typename Work>
KVSCOPE_INLINE void forSixes(int count, Work work)
{
    int first = 0;
    for (; first + 6 <= count; first += 6)
        work.template operator()<6>(first);
    switch (count - first) {
    case 5:
        return work.template operator()<5>(first);
    case 4:
        return work.template operator()<4>(first);
    case 3:
        return work.template operator()<3>(first);
    case 2:
        return work.template operator()<2>(first);
    case 1:
        return work.template operator()<1>(first);
    default:
        return;
    }
}

/// Scores become weights exp(score - max); alpha[r] is what the row's earlier sums must be
/// multiplied by.
KVSCOPE_INLINE void softmaxColumns(const PrefillBlock& block, int row)
{
    float* scores = block.scores + row;
    const std::int64_t stride = block.numRows;
    const Lanes oldMax = load(block.state.max + row);
    Lanes max = oldMax;
    for (int k = 0; k < block.numKeys; ++k)
        max = larger(load(scores + k * stride), max);
    Lanes sum = {};
    for (int k = 0; k < block.numKeys; ++k) {
        const Lanes weight = expOf(load(scores + k * stride) - max);
        store(scores + k * stride, weight);
        sum += weight;
    }
    const Lanes alpha = expOf(oldMax - max);
    store(block.alpha + row, alpha);
    store(block.state.max + row, max);
    store(block.state.sum + row, load(block.state.sum + row) * alpha + sum);
}

void prefillBlock(const PrefillBlock& block)
{
    for (int row = 0; row < block.numRows; row += kPanel) {
        const float* q = block.q + row * block.headDim;
        forSixes(block.numKeys, [&]<int Keys>(int k) {
            scorePanel<Keys>(block, block.keys + k * block.keyStride, q,
                             block.scores + static_cast<std::int64_t>(k) * block.numRows + row);
        });
    }
    if (block.softCap > 0.0F)
        capScores(block);
    if (block.visible != nullptr)
        maskScores(block);
    for (int row = 0; row < block.numRows; row += kLanes)
        softmaxColumns(block, row);
    for (std::int64_t d = 0; d < block.state.accStride; d += kPanel) {
        forSixes(block.numRows, [&]<int Rows>(int row) {
            valuePanel<Rows>(block, block.scores + row, block.values + d, block.alpha + row,
                             block.state.acc + row * block.state.accStride + d);
        });
    }
}

constexpr PrefillSimd floatPrefill()
{
    return {kPanel, 48, 96, false, prefillBlock};
}

void toFloat(KVRows rows, int numRows, std::int64_t headDim, float* out, std::int64_t outStride)
{
    withElements(rows, [&](auto elements) {
        for (int i = 0; i < numRows; ++i) {
            const auto* from = elements + i * rows.stride;
            float* to = out + i * outStride;
            std::int64_t d = 0;
            for (; d + kLanes <= headDim; d += kLanes)
                store(to + d, load(from + d));
            for (; d < outStride; d += kLanes)
                store(to + d, d < headDim ? loadPart(from + d, headDim - d) : Lanes{});
            if (rows.hasScales()) {
                const float scale = scaleOf(rows, i, headDim);
                for (d = 0; d < headDim; ++d) // what lies beyond stays 0, also times NaN
                    to[d] *= scale;
            }
        }
    });
}

} // namespace
} // namespace kvscope
