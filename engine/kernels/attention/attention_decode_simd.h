#pragma once

// The decode block of AttentionSimd; included by attention_plain.cpp, attention_avx2.cpp and
// attention_avx512.cpp alone.

#include "engine/kernels/attention/attention_lanes.h"

namespace kvscope {
namespace {

#if defined(__AVX2__)
KVSCOPE_INLINE void storeFourSums(float* to, EightLanes a, EightLanes b, EightLanes c, EightLanes d)
{
    const EightLanes ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
                          __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
    const EightLanes cd = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13) +
                          __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
    const EightLanes abcd = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
                            __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
    _mm_storeu_ps(to, _mm256_castps256_ps128(abcd) + _mm256_extractf128_ps(abcd, 1));
}
#endif

/// Sums of four vectors' lanes, stored side by side.
KVSCOPE_INLINE void storeSums(float* to, const Lanes* of)
{
#if defined(__AVX512F__)
    storeFourSums(to, folded(of[0]), folded(of[1]), folded(of[2]), folded(of[3]));
#elif defined(__AVX2__)
    storeFourSums(to, of[0], of[1], of[2], of[3]);
#else
    for (int i = 0; i < 4; ++i)
        to[i] = sumOf(of[i]);
#endif
}

constexpr int kPairLanes = 2 * kLanes;

/// scores[r][k] = q[r] . keys[k] for a few rows and one or four keys. Whole pairs of q are in the
/// order of loadPair() for the keys' type.
template <int Rows, int Keys, typename Element>
KVSCOPE_INLINE void dotProducts(const float* q, std::int64_t qStride, const Element* keys,
                                std::int64_t keyStride, std::int64_t headDim, float* scores)
{
    Lanes sums[Rows][Keys];
    for (auto& row : sums)
        for (auto& sum : row)
            sum = Lanes{};
    std::int64_t d = 0;
    for (; d + kPairLanes <= headDim; d += kPairLanes) {
        for (int k = 0; k < Keys; ++k) {
            const LanePair key = loadPair(keys + k * keyStride + d);
            for (int r = 0; r < Rows; ++r) {
                sums[r][k] += load(q + r * qStride + d) * key.first;
                sums[r][k] += load(q + r * qStride + d + kLanes) * key.second;
            }
        }
    }
    for (; d < headDim; d += kLanes) {
#pragma GCC unroll 4 // without it g++ 12 keeps all sums in memory
        for (int k = 0; k < Keys; ++k) {
            const Lanes key = loadUpTo(keys + k * keyStride + d, headDim - d);
            for (int r = 0; r < Rows; ++r)
                sums[r][k] += load(q + r * qStride + d) * key;
        }
    }
    for (int r = 0; r < Rows; ++r) {
        float* to = scores + r * DecodeBlock::kMaxKeys;
        if constexpr (Keys == 4)
            storeSums(to, sums[r]);
        else
            *to = sumOf(sums[r][0]);
    }
}

/// Scores of up to four rows of ordered queries; the most sums that fit the registers.
template <int Rows, typename Element>
void scoreRows(const DecodeBlock& block, int firstRow, const float* q, const Element* keys,
               float* scores)
{
    const auto stride = block.keys.stride;
    const auto qStride = block.state.accStride;
    q += firstRow * qStride;
    scores += firstRow * DecodeBlock::kMaxKeys;
    int k = 0;
    // Values are asked for while keys are multiplied, and the next block's keys while values are:
    // left to itself the processor alternates between waiting and computing (SmolLM2's bfloat16
    // cache, 4096 keys, one Zen 3 core: 6.7 GB/s without, 8.0 with, of 12.3 that plain reading
    // takes).
    const auto* values = reinterpret_cast<const Element*>(block.values.data);
    for (; k + 4 <= block.numKeys; k += 4) {
        if (firstRow == 0)
            for (int ahead = k; ahead < k + 4; ++ahead)
                prefetchRow(values + ahead * block.values.stride, block.headDim, block.isStreamed);
        dotProducts<Rows, 4>(q, qStride, keys + k * stride, stride, block.headDim, scores + k);
    }
    for (; k < block.numKeys; ++k)
        dotProducts<Rows, 1>(q, qStride, keys + k * stride, stride, block.headDim, scores + k);
}

/// The queries with whole pairs in the order of loadPair() for the keys' type.
template <typename Element>
KVSCOPE_INLINE const float* orderedQueries(const DecodeBlock& block, float* scratch)
{
    if constexpr (!__is_same(Element, BFloat16Bits))
        return block.q;
    const auto stride = block.state.accStride;
    for (int r = 0; r < block.numRows; ++r) {
        const float* from = block.q + r * stride;
        float* to = scratch + r * stride;
        std::int64_t d = 0;
        for (; d + kPairLanes <= block.headDim; d += kPairLanes) {
            const LanePair pair = loadPairAs<Element>(from + d);
            store(to + d, pair.first);
            store(to + d + kLanes, pair.second);
        }
        for (; d < stride; d += kLanes)
            store(to + d, load(from + d));
    }
    return scratch;
}

/// acc[r][0 .. Pairs * kPairLanes) += sum over k of weights[r][k] * values[k], for columns that
/// start at `d`.
template <int Rows, int Pairs, typename Element>
KVSCOPE_INLINE void addValueColumns(const DecodeBlock& block, const Element* values,
                                    const float* weights, float* acc, std::int64_t d)
{
    LanePair sums[Rows][Pairs];
    for (int r = 0; r < Rows; ++r)
        for (int p = 0; p < Pairs; ++p)
            sums[r][p] = loadPairAs<Element>(acc + r * block.state.accStride + d + p * kPairLanes);
    const auto* nextKeys =
        reinterpret_cast<const Element*>(block.keys.data) + block.numKeys * block.keys.stride + d;
    for (int k = 0; k < block.numKeys; ++k) {
        const Element* value = values + k * block.values.stride + d;
        prefetchRow(nextKeys + k * block.keys.stride, Pairs * kPairLanes, block.isStreamed);
        for (int p = 0; p < Pairs; ++p) {
            // Reads the weights anew for each pair: g++ 12 otherwise keeps them, and spills a sum
            // to the stack.
            asm volatile("" ::: "memory");
            const LanePair pair = loadPair(value + p * kPairLanes);
            for (int r = 0; r < Rows; ++r) {
                const Lanes weight = broadcast(weights[r * DecodeBlock::kMaxKeys + k]);
                sums[r][p].first += weight * pair.first;
                sums[r][p].second += weight * pair.second;
            }
        }
    }
    for (int r = 0; r < Rows; ++r)
        for (int p = 0; p < Pairs; ++p)
            storePairAs<Element>(acc + r * block.state.accStride + d + p * kPairLanes, sums[r][p]);
}

/// The same for the columns from `d` on, which are less than a pair.
template <int Rows, typename Element>
KVSCOPE_INLINE void addLastColumns(const DecodeBlock& block, const Element* values,
                                   const float* weights, float* acc, std::int64_t d)
{
    for (; d < block.headDim; d += kLanes) {
        Lanes sums[Rows];
        for (int r = 0; r < Rows; ++r)
            sums[r] = load(acc + r * block.state.accStride + d);
        for (int k = 0; k < block.numKeys; ++k) {
            const Lanes value = loadUpTo(values + k * block.values.stride + d, block.headDim - d);
            for (int r = 0; r < Rows; ++r)
                sums[r] += broadcast(weights[r * DecodeBlock::kMaxKeys + k]) * value;
        }
        for (int r = 0; r < Rows; ++r)
            store(acc + r * block.state.accStride + d, sums[r]);
    }
}

template <int Rows, typename Element>
void addValues(const DecodeBlock& block, int firstRow, const Element* values, const float* weights)
{
    // As many sums as fit the 16 vector registers beside weights and values; of AVX-512's 32, what
    // a head of 64 elements fills.
    constexpr int kPairs = kLanes == 16 ? 2 : Rows == 1 ? 4 : Rows == 4 ? 1 : 2;
    weights += firstRow * DecodeBlock::kMaxKeys;
    float* acc = block.state.acc + firstRow * block.state.accStride;
    std::int64_t d = 0;
    for (; d + kPairs * kPairLanes <= block.headDim; d += kPairs * kPairLanes)
        addValueColumns<Rows, kPairs>(block, values, weights, acc, d);
    for (; d + kPairLanes <= block.headDim; d += kPairLanes)
        addValueColumns<Rows, 1>(block, values, weights, acc, d);
    addLastColumns<Rows>(block, values, weights, acc, d);
}

/// Turns one row's scores into weights exp(score - max) and brings its state to the new maximum.
KVSCOPE_INLINE void softmaxRow(const DecodeBlock& block, int row, float* scores)
{
    const int padded = (block.numKeys + kLanes - 1) / kLanes * kLanes;
    if (block.softCap > 0.0F)
        for (int k = 0; k < padded; k += kLanes) // what lies beyond numKeys is overwritten below
            store(scores + k, softCapped(load(scores + k), block.softCap));
    const VisibleKeys visible =
        block.visible != nullptr ? block.visible[row] : VisibleKeys{0, block.numKeys};
    for (int k = 0; k < visible.lo; ++k)
        scores[k] = -__builtin_inff();
    for (int k = visible.hi; k < padded; ++k)
        scores[k] = -__builtin_inff();

    Lanes largest = load(scores);
    for (int k = kLanes; k < padded; k += kLanes)
        largest = larger(load(scores + k), largest);
    const SoftmaxState& state = block.state;
    const float oldMax = state.max[row];
    const float blockMax = maxOf(largest);
    const float newMax = blockMax > oldMax ? blockMax : oldMax;

    Lanes sum = {};
    for (int k = 0; k < padded; k += kLanes) {
        const Lanes weight = expOf(load(scores + k) - newMax);
        store(scores + k, weight);
        sum += weight;
    }
    const float alpha = newMax > oldMax ? expOf(broadcast(oldMax - newMax))[0] : 1.0F;
    state.max[row] = newMax;
    state.sum[row] = state.sum[row] * alpha + sumOf(sum);
    if (newMax > oldMax) {
        float* acc = state.acc + row * state.accStride;
        for (std::int64_t d = 0; d < state.accStride; d += kLanes)
            store(acc + d, load(acc + d) * alpha);
    }
}

/// Calls work.operator()<Rows>(firstRow) for groups of up to four rows, the most that registers
/// hold.
template <typename Work>
KVSCOPE_INLINE void forRowGroups(int numRows, Work work)
{
    int row = 0;
    for (; row + 4 <= numRows; row += 4)
        work.template operator()<4>(row);
    switch (numRows - row) {
    case 3:
        return work.template operator()<3>(row);
    case 2:
        return work.template operator()<2>(row);
    case 1:
        return work.template operator()<1>(row);
    default:
        return;
    }
}

/// Multiplies every row's score (or weight) of a key by that key's scale.
KVSCOPE_INLINE void multiplyByScales(const DecodeBlock& block, const KVRows& rows, float* scores)
{
    alignas(64) float scales[DecodeBlock::kMaxKeys];
    for (int k = 0; k < block.numKeys; ++k)
        scales[k] = scaleOf(rows, k, block.headDim);
    for (int row = 0; row < block.numRows; ++row) {
        float* of = scores + row * DecodeBlock::kMaxKeys;
        for (int k = 0; k < block.numKeys; k += kLanes) // beyond numKeys nothing is read
            store(of + k, load(of + k) * load(scales + k));
    }
}

void decodeBlock(const DecodeBlock& block)
{
    alignas(64) float scores[DecodeBlock::kMaxRows * DecodeBlock::kMaxKeys];
    withElements(block.keys, [&]<typename Element>(const Element* keys) {
        const float* q = orderedQueries<Element>(block, block.qScratch);
        forRowGroups(block.numRows,
                     [&]<int Rows>(int row) { scoreRows<Rows>(block, row, q, keys, scores); });
    });
    if (block.keys.hasScales())
        multiplyByScales(block, block.keys, scores);
    for (int row = 0; row < block.numRows; ++row)
        softmaxRow(block, row, scores + row * DecodeBlock::kMaxKeys);
    if (block.values.hasScales())
        multiplyByScales(block, block.values, scores);
    withElements(block.values, [&](const auto* values) {
        forRowGroups(block.numRows,
                     [&]<int Rows>(int row) { addValues<Rows>(block, row, values, scores); });
    });
}

} // namespace
} // namespace kvscope
