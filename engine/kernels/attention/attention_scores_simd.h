#pragma once

// What happens to the scores of a PrefillBlock before its softmax, however they were multiplied;
// included by attention_prefill_simd.h and attention_integers_simd.h alone.

#include "engine/kernels/attention/attention_lanes.h"

namespace kvscope {
namespace {

constexpr int kPanel = 2 * kLanes; ///< query rows side by side

void capScores(const PrefillBlock& block)
{
    const auto count = static_cast<std::int64_t>(block.numKeys) * block.numRows;
    for (std::int64_t i = 0; i < count; i += kLanes)
        store(block.scores + i, softCapped(load(block.scores + i), block.softCap));
}

/// Scores of keys a row must not see become -inf. Only blocks at the diagonal or a window's edge
/// get here.
void maskScores(const PrefillBlock& block)
{
    for (int row = 0; row < block.numRows; row += kLanes) {
        IntLanes lo;
        IntLanes hi;
        for (int i = 0; i < kLanes; ++i) {
            lo[i] = block.visible[row + i].lo;
            hi[i] = block.visible[row + i].hi;
        }
        for (int k = 0; k < block.numKeys; ++k) {
            float* scores = block.scores + static_cast<std::int64_t>(k) * block.numRows + row;
            const IntLanes key = IntLanes{} + k;
            const Lanes hidden = broadcast(-__builtin_inff());
            store(scores, ((key >= lo) & (key < hi)) != 0 ? load(scores) : hidden);
        }
    }
}

} // namespace
} // namespace kvscope
