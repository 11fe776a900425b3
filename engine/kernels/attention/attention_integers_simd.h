#pragma once

// The loops of attention_integers.h for vectors of 8 or 16 floats; included by
// attention_integers_avx2.cpp and attention_integers_avx512.cpp alone. Laid out as in
// attention_prefill_simd.h, with a pair of integers where that has a float: queries lie side by
// side in the lanes.

#include "engine/kernels/attention/attention_scores_simd.h"
#include "engine/kernels/integer_groups.h"

namespace kvscope {
namespace {

constexpr int kBlockKeys = 2 * kGroup;
/// With 96 rows, for which every block is rounded twice as often, 4,096 tokens of SmolLM2 take 2.47
/// to 2.58 s, with 192 2.41 s, with 384 as long (Zen 5, two threads).
constexpr int kMostRows = 192;
static_assert(kMostRows <= PrefillSimd::kMostRows);
/// 24 sums, two vectors of queries or values and one more, or 12.
constexpr int kTile = kLanes == 16 ? 12 : 6;

constexpr std::int64_t groupsOf(std::int64_t count)
{
    return (count + kGroup - 1) / kGroup;
}

/// How a tile's working memory is shared out; all parts begin with a cache line where the whole
/// does.
struct IntegerParts
{
    explicit IntegerParts(const PrefillBlock& block)
        : groups(groupsOf(block.headDim))
        , queries(block.scratch)
        , keys(queries + groups * (kPairs + 1) * block.numRows)
        , keyScales(keys + groups * kPairs * kBlockKeys)
        , values(keyScales + groups * kBlockKeys)
        , valueScales(values + kBlockKeys / 2 * block.state.accStride)
        , weights(valueScales + kBlockKeys)
        , weightScales(weights + kBlockKeys / 2 * block.numRows)
    {
    }

    std::int64_t groups; ///< of a head's numbers
    float* queries;     ///< by panel and group the pairs [kPairs, kPanel], then the scales [kPanel]
    float* keys;        ///< [kBlockKeys, groups, kPairs]
    float* keyScales;   ///< [kBlockKeys, groups]
    float* values;      ///< [kBlockKeys / 2, accStride]
    float* valueScales; ///< [kBlockKeys]
    float* weights;     ///< [kBlockKeys / 2, rows]
    float* weightScales; ///< [kBlockKeys / kGroup, rows]
};

std::int64_t integerScratch(int numRows, std::int64_t headDim, std::int64_t accStride)
{
    const std::int64_t groups = groupsOf(headDim);
    return groups * (kPairs + 1) * (numRows + kBlockKeys) + kBlockKeys / 2 * accStride +
           kBlockKeys + (kBlockKeys / 2 + kBlockKeys / kGroup) * numRows;
}

/// A group of queries, one in each lane. \param count  numbers that are there
KVSCOPE_INLINE void roundQueries(const float* q, std::int64_t count, float* pairs)
{
    IntLanes largest{};
    for (std::int64_t d = 0; d < count; ++d)
        largest = largerBits(magnitudeBits(load(q + d * kPanel)), largest);
    const ColumnScales scales(largest, kLargestLeft);
    for (int pair = 0; pair < kPairs; ++pair) {
        const std::int64_t d = 2 * pair;
        const Lanes first = d < count ? load(q + d * kPanel) * scales.inverse : Lanes{};
        const Lanes second = d + 1 < count ? load(q + (d + 1) * kPanel) * scales.inverse : Lanes{};
        store(pairs + pair * kPanel, pairOf(first, second));
    }
    store(pairs + kPairs * kPanel, scales.scale);
}

void prepareQueries(const PrefillBlock& block)
{
    float* to = IntegerParts(block).queries;
    for (int row = 0; row < block.numRows; row += kPanel)
        for (std::int64_t d = 0; d < block.headDim; d += kGroup, to += (kPairs + 1) * kPanel)
            for (int lane = 0; lane < kPanel; lane += kLanes)
                roundQueries(block.q + row * block.headDim + d * kPanel + lane,
                             block.headDim - d < kGroup ? block.headDim - d : kGroup, to + lane);
}

void roundKeys(const PrefillBlock& block, const IntegerParts& parts)
{
    float* to = parts.keys;
    float* scale = parts.keyScales;
    for (int k = 0; k < block.numKeys; ++k)
        for (std::int64_t d = 0; d < block.headDim; d += kGroup, to += kPairs) {
            std::int16_t shorts[kGroup];
            *scale++ = roundGroup(block.keys + k * block.keyStride + d, block.headDim - d,
                                  kLargestRight, shorts);
            __builtin_memcpy(to, shorts, sizeof shorts);
        }
}

/// Of each position by itself: no other, which a row may not see, changes its integers.
void roundValues(const PrefillBlock& block, const IntegerParts& parts)
{
    const std::int64_t stride = block.state.accStride;
    float inverses[kBlockKeys];
    for (int k = 0; k < block.numKeys; ++k) {
        IntLanes largest{};
        for (std::int64_t d = 0; d < stride; d += kLanes)
            largest =
                largerBits(magnitudeBits(load(block.values + k * block.valueStride + d)), largest);
        const RowScale scale(largestOf(largest), kLargestRight);
        parts.valueScales[k] = scale.scale;
        inverses[k] = scale.inverse;
    }
    for (int k = 0; k < block.numKeys; k += 2) {
        const float* values = block.values + k * block.valueStride;
        const bool hasSecond = k + 1 < block.numKeys;
        for (std::int64_t d = 0; d < stride; d += kLanes)
            store(parts.values + k / 2 * stride + d,
                  pairOf(load(values + d) * inverses[k],
                         hasSecond ? load(values + block.valueStride + d) * inverses[k + 1]
                                   : Lanes{}));
    }
}

/// scores[k][0 .. kPanel) = keys[k] . the panel's queries.
template <int Keys>
KVSCOPE_INLINE void scoreIntegers(const PrefillBlock& block, const IntegerParts& parts,
                                  int firstKey, const float* q, float* scores)
{
    const float* keys = parts.keys + firstKey * parts.groups * kPairs;
    const float* keyScales = parts.keyScales + firstKey * parts.groups;
    for (std::int64_t g = 0; g < parts.groups; ++g, q += (kPairs + 1) * kPanel) {
        IntLanes sums[Keys][2];
#pragma GCC unroll 12
        for (auto& key : sums)
            key[0] = key[1] = IntLanes{};
        for (int pair = 0; pair < kPairs; ++pair) {
            const Lanes q0 = load(q + pair * kPanel);
            const Lanes q1 = load(q + pair * kPanel + kLanes);
#pragma GCC unroll 12
            for (int k = 0; k < Keys; ++k) {
                const Lanes key = broadcastPair(keys + (k * parts.groups + g) * kPairs + pair);
                sums[k][0] = multiplyPairs(sums[k][0], key, q0);
                sums[k][1] = multiplyPairs(sums[k][1], key, q1);
            }
        }
        const Lanes s0 = load(q + kPairs * kPanel);
        const Lanes s1 = load(q + kPairs * kPanel + kLanes);
#pragma GCC unroll 12
        for (int k = 0; k < Keys; ++k) {
            const Lanes scale = broadcast(keyScales[k * parts.groups + g]);
            float* to = scores + k * block.numRows;
            const Lanes before0 = g > 0 ? load(to) : Lanes{};
            const Lanes before1 = g > 0 ? load(to + kLanes) : Lanes{};
            store(to, multiplyAdd(toFloats(sums[k][0]), scale * s0, before0));
            store(to + kLanes, multiplyAdd(toFloats(sums[k][1]), scale * s1, before1));
        }
    }
}

/// As softmaxColumns(), but weights are multiplied by their values' scales, rounded by the largest
/// of a group, and become pairs of neighbouring keys'. What a row does not see weighs 0, so it
/// changes nothing.
KVSCOPE_INLINE void softmaxToPairs(const PrefillBlock& block, const IntegerParts& parts, int row)
{
    float* scores = block.scores + row;
    const std::int64_t stride = block.numRows;
    const Lanes oldMax = load(block.state.max + row);
    Lanes max = oldMax;
    for (int k = 0; k < block.numKeys; ++k)
        max = larger(load(scores + k * stride), max);
    Lanes sum = {};
    for (int first = 0; first < block.numKeys; first += kGroup) {
        const int end = block.numKeys < first + kGroup ? block.numKeys : first + kGroup;
        IntLanes largest{};
        for (int k = first; k < end; ++k) {
            const Lanes weight = expOf(load(scores + k * stride) - max);
            sum += weight;
            const Lanes scaled = weight == 0.0F ? weight : weight * parts.valueScales[k];
            store(scores + k * stride, scaled);
            largest = largerBits(magnitudeBits(scaled), largest);
        }
        const ColumnScales scales(largest, kLargestLeft);
        for (int k = first; k < end; k += 2) {
            const Lanes second =
                k + 1 < end ? load(scores + (k + 1) * stride) * scales.inverse : Lanes{};
            store(parts.weights + k / 2 * stride + row,
                  pairOf(load(scores + k * stride) * scales.inverse, second));
        }
        store(parts.weightScales + first / kGroup * stride + row, scales.scale);
    }
    const Lanes alpha = expOf(oldMax - max);
    store(block.alpha + row, alpha);
    store(block.state.max + row, max);
    store(block.state.sum + row, load(block.state.sum + row) * alpha + sum);
}

/// acc[r][0 .. kPanel) = alpha[r] * acc[r] + sum over k of weights[k][r] * values[k].
template <int Rows>
KVSCOPE_INLINE void addIntegers(const PrefillBlock& block, const IntegerParts& parts, int row,
                                std::int64_t d)
{
    const std::int64_t stride = block.state.accStride;
    float* acc = block.state.acc + row * stride + d;
    for (int first = 0; first < block.numKeys; first += kGroup) {
        const int left = block.numKeys - first;
        const int pairs = left < kGroup ? (left + 1) / 2 : kPairs;
        const float* values = parts.values + first / 2 * stride + d;
        const float* weights = parts.weights + first / 2 * block.numRows + row;
        IntLanes sums[Rows][2];
#pragma GCC unroll 12
        for (auto& sum : sums)
            sum[0] = sum[1] = IntLanes{};
        for (int pair = 0; pair < pairs; ++pair) {
            const Lanes v0 = load(values + pair * stride);
            const Lanes v1 = load(values + pair * stride + kLanes);
#pragma GCC unroll 12
            for (int r = 0; r < Rows; ++r) {
                const Lanes weight = broadcastPair(weights + pair * block.numRows + r);
                sums[r][0] = multiplyPairs(sums[r][0], weight, v0);
                sums[r][1] = multiplyPairs(sums[r][1], weight, v1);
            }
        }
        const float* scales = parts.weightScales + first / kGroup * block.numRows + row;
#pragma GCC unroll 12
        for (int r = 0; r < Rows; ++r) {
            float* to = acc + r * stride;
            const Lanes scale = broadcast(scales[r]);
            const Lanes alpha = broadcast(first > 0 ? 1.0F : block.alpha[row + r]);
            store(to, multiplyAdd(toFloats(sums[r][0]), scale, load(to) * alpha));
            store(to + kLanes, multiplyAdd(toFloats(sums[r][1]), scale, load(to + kLanes) * alpha));
        }
    }
}

/// Calls work.operator()<N>(first) for groups of kTile, then for what is left.
template <int Count, typename Work>
KVSCOPE_INLINE void forRest(int count, int first, Work work)
{
    if constexpr (Count > 0) {
        if (count < Count)
            return forRest<Count - 1>(count, first, work);
        work.template operator()<Count>(first);
    }
}

template <typename Work>
KVSCOPE_INLINE void forTiles(int count, Work work)
{
    int first = 0;
    for (; first + kTile <= count; first += kTile)
        work.template operator()<kTile>(first);
    forRest<kTile - 1>(count - first, first, work);
}

void integerBlock(const PrefillBlock& block)
{
    const IntegerParts parts(block);
    roundKeys(block, parts);
    for (int row = 0; row < block.numRows; row += kPanel) {
        const float* q = parts.queries + row * parts.groups * (kPairs + 1);
        forTiles(block.numKeys, [&]<int Keys>(int k) {
            scoreIntegers<Keys>(block, parts, k, q,
                                block.scores + static_cast<std::int64_t>(k) * block.numRows + row);
        });
    }
    if (block.softCap > 0.0F)
        capScores(block);
    if (block.visible != nullptr)
        maskScores(block);
    roundValues(block, parts);
    for (int row = 0; row < block.numRows; row += kLanes)
        softmaxToPairs(block, parts, row);
    for (std::int64_t d = 0; d < block.state.accStride; d += kPanel)
        forTiles(block.numRows,
                 [&]<int Rows>(int row) { addIntegers<Rows>(block, parts, row, d); });
}

constexpr PrefillSimd integerLoops()
{
    return {kPanel, kBlockKeys, kMostRows, true, integerBlock, prepareQueries, integerScratch};
}

} // namespace
} // namespace kvscope
