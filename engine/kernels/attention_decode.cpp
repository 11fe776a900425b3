#include "engine/kernels/attention_cpu.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace kvscope {

namespace {

/// Below this many multiply-adds one thread is done before others have woken (some 3 us).
constexpr std::int64_t kSerialWork = 100'000;

/// Where the softmax states of all work items lie: per row max, sum and accStride sums.
struct DecodePlan
{
    std::int64_t begin = 0; ///< key positions that any row sees
    std::int64_t end = 0;
    std::int64_t numParts = 1; ///< of the key range
    std::int64_t keysPerPart = 0;
    std::int64_t accStride = 0;
    std::int64_t numRows = 0;
    bool isParallel = false;

    std::int64_t stateFloats() const { return numRows * (accStride + 2); }
    SoftmaxState state(float* scratch, std::int64_t item) const
    {
        float* at = scratch + item * stateFloats();
        return {at, at + numRows, at + 2 * numRows, accStride};
    }
};

/// Splits the key range until the items share out evenly among the threads.
DecodePlan planDecode(const CpuAttention& call, const AttentionSimd& simd)
{
    DecodePlan plan;
    plan.numRows = call.numRows();
    plan.accStride = (call.headDim + simd.lanes - 1) / simd.lanes * simd.lanes;
    plan.begin = call.visibleBegin(0);
    plan.end = call.position(plan.numRows - 1) + 1;
    const auto& last = call.pieces[call.numPieces - 1];
    plan.end = std::min(plan.end, last.firstPosition + last.length);

    const auto numKeys = plan.end - plan.begin;
    const auto heads = call.batch * call.numKvHeads;
    const auto work = 2 * heads * plan.numRows * numKeys * call.headDim;
    const std::int64_t threads = at::in_parallel_region() ? 1 : at::get_num_threads();
    plan.isParallel = threads > 1 && work >= kSerialWork;
    const auto usualParts = plan.isParallel ? decodeParts(heads, threads) : 1;
    const auto wantedParts = call.numParts > 0 ? call.numParts : usualParts;
    const auto wantedKeys = (numKeys + wantedParts - 1) / wantedParts;
    // Whole blocks, so that splitting does not add short ones.
    plan.keysPerPart =
        (wantedKeys + DecodeBlock::kMaxKeys - 1) / DecodeBlock::kMaxKeys * DecodeBlock::kMaxKeys;
    plan.numParts = std::max<std::int64_t>(1, (numKeys + plan.keysPerPart - 1) / plan.keysPerPart);
    return plan;
}

/// One head's rows over one part of the keys.
void attendPart(const CpuAttention& call, const AttentionSimd& simd, const DecodePlan& plan,
                std::int64_t item, const SoftmaxState& state)
{
    const auto head = item / plan.numParts;
    const auto batch = head / call.numKvHeads;
    const auto kvHead = head % call.numKvHeads;
    const auto begin = plan.begin + item % plan.numParts * plan.keysPerPart;
    const auto end = std::min(plan.end, begin + plan.keysPerPart);

    thread_local std::vector<float> q;
    const auto qSize = plan.numRows * plan.accStride;
    q.assign(static_cast<std::size_t>(2 * qSize), 0.0F);
    for (std::int64_t row = 0; row < plan.numRows; ++row) {
        const float* from = call.q + call.rowOffset(batch, kvHead, row);
        for (std::int64_t d = 0; d < call.headDim; ++d)
            q[static_cast<std::size_t>(row * plan.accStride + d)] = from[d] * call.scale;
    }
    std::fill_n(state.max, plan.numRows, kNoScore);
    std::fill_n(state.sum, plan.numRows, 0.0F);
    std::fill_n(state.acc, plan.numRows * plan.accStride, 0.0F);

    std::array<VisibleKeys, DecodeBlock::kMaxRows> visible;
    call.forBlocks(begin, end, DecodeBlock::kMaxKeys,
                   [&](const KVPiece& piece, std::int64_t from, std::int64_t to) {
                       DecodeBlock block;
                       block.q = q.data();
                       block.qScratch = q.data() + qSize;
                       block.numRows = static_cast<int>(plan.numRows);
                       block.numKeys = static_cast<int>(to - from);
                       block.headDim = call.headDim;
                       block.keys = piece.keyRows(batch, kvHead).from(from - piece.firstPosition);
                       block.values =
                           piece.valueRows(batch, kvHead).from(from - piece.firstPosition);
                       block.softCap = call.softCap;
                       block.state = state;
                       if (call.fillVisible(0, plan.numRows, from, to, visible.data()))
                           block.visible = visible.data();
                       simd.decodeBlock(block);
                   });
}

/// Merges the parts of one head by log-sum-exp into the first, and stores its rows.
void mergeParts(const CpuAttention& call, const DecodePlan& plan, std::int64_t head, float* scratch)
{
    const auto first = plan.state(scratch, head * plan.numParts);
    for (std::int64_t row = 0; row < plan.numRows; ++row) {
        float* acc = first.acc + row * plan.accStride;
        for (std::int64_t part = 1; part < plan.numParts; ++part) {
            const auto other = plan.state(scratch, head * plan.numParts + part);
            const float max = std::max(first.max[row], other.max[row]);
            const float scaleFirst = std::exp(first.max[row] - max);
            const float scaleOther = std::exp(other.max[row] - max);
            const float* otherAcc = other.acc + row * plan.accStride;
            for (std::int64_t d = 0; d < call.headDim; ++d)
                acc[d] = acc[d] * scaleFirst + otherAcc[d] * scaleOther;
            first.sum[row] = first.sum[row] * scaleFirst + other.sum[row] * scaleOther;
            first.max[row] = max;
        }
        call.finishRow(head / call.numKvHeads, head % call.numKvHeads, row, first.max[row],
                       first.sum[row], acc);
    }
}

} // namespace

std::int64_t decodeParts(std::int64_t heads, std::int64_t threads)
{
    return threads / std::gcd(heads, threads);
}

void attendDecode(const CpuAttention& call, const AttentionSimd& simd)
{
    const auto plan = planDecode(call, simd);
    const auto numHeads = call.batch * call.numKvHeads;
    const auto numItems = numHeads * plan.numParts;
    // Kept from call to call: a decode step allocates nothing but its output.
    thread_local std::vector<float> states;
    states.resize(std::max(states.size(), static_cast<std::size_t>(numItems * plan.stateFloats())));
    float* scratch = states.data();

    const auto attendItems = [&](std::int64_t begin, std::int64_t end) {
        for (auto item = begin; item < end; ++item) {
            attendPart(call, simd, plan, item, plan.state(scratch, item));
            if (plan.numParts == 1)
                mergeParts(call, plan, item, scratch);
        }
    };
    if (plan.isParallel)
        at::parallel_for(0, numItems, 1, attendItems);
    else
        attendItems(0, numItems);
    if (plan.numParts > 1) {
        for (std::int64_t head = 0; head < numHeads; ++head)
            mergeParts(call, plan, head, scratch);
    }
}

} // namespace kvscope
