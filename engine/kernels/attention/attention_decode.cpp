#include "engine/kernels/attention/attention_cpu.h"

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
/// Keys of a block that come from memory, and as much of values: both, and the next block's keys,
/// which are asked for meanwhile, are to find room in the first cache. A layer of the 502M shape
/// (rows of 192 bytes), 32,768 cached, 2 Zen 2 cores: 1.36 to 1.50 of its bytes' time with 64 keys,
/// 1.17 with 24; of SmolLM2 (rows of 128) 1.17 to 1.38 with 64, 1.10 to 1.18 with 32.
constexpr std::int64_t kStreamedBytes = 4608;

std::int64_t keysPerBlock(const CpuAttention& call)
{
    if (!call.isStreamed)
        return DecodeBlock::kMaxKeys;
    const KVRows keys = call.pieces[0].keyRows(0, 0);
    const std::int64_t fitting = kStreamedBytes / (call.headDim * keys.elementBytes());
    return std::clamp<std::int64_t>(fitting / 8 * 8, 8, DecodeBlock::kMaxKeys);
}

} // namespace

std::int64_t decodeParts(std::int64_t heads, std::int64_t threads)
{
    return threads / std::gcd(heads, threads);
}

DecodeAttention::DecodeAttention(const CpuAttention& call, const AttentionSimd& simd,
                                 std::int64_t numThreads)
    : m_call(call)
    , m_simd(simd)
    , m_begin(call.visibleBegin(0))
    , m_numRows(call.numRows())
    , m_accStride((call.headDim + simd.lanes - 1) / simd.lanes * simd.lanes)
{
    const auto& last = call.pieces[call.numPieces - 1];
    m_end = std::min(call.position(m_numRows - 1) + 1, last.firstPosition + last.length);
    const auto numKeys = m_end - m_begin;
    const auto wantedParts =
        call.numParts > 0 ? call.numParts : decodeParts(numHeads(), numThreads);
    const auto wantedKeys = (numKeys + wantedParts - 1) / wantedParts;
    // Whole blocks, so that splitting does not add short ones.
    const auto perBlock = keysPerBlock(call);
    m_keysPerPart = (wantedKeys + perBlock - 1) / perBlock * perBlock;
    m_numParts = std::max<std::int64_t>(1, (numKeys + m_keysPerPart - 1) / m_keysPerPart);
}

std::int64_t DecodeAttention::multiplyAdds() const
{
    return 2 * numHeads() * m_numRows * (m_end - m_begin) * m_call.headDim;
}

void DecodeAttention::attend(std::int64_t firstItem, std::int64_t endItem, float* states) const
{
    for (auto item = firstItem; item < endItem; ++item) {
        attendPart(item, states);
        if (!isSplit())
            mergeParts(item, states);
    }
}

void DecodeAttention::merge(std::int64_t firstHead, std::int64_t endHead, float* states) const
{
    if (!isSplit())
        return;
    for (auto head = firstHead; head < endHead; ++head)
        mergeParts(head, states);
}

void DecodeAttention::attendPart(std::int64_t item, float* states) const
{
    const CpuAttention& call = m_call;
    const auto head = item / m_numParts;
    const auto batch = head / call.numKvHeads;
    const auto kvHead = head % call.numKvHeads;
    const auto begin = m_begin + item % m_numParts * m_keysPerPart;
    const auto end = std::min(m_end, begin + m_keysPerPart);

    const SoftmaxState state = this->state(states, item);
    const auto qSize = m_numRows * m_accStride;
    float* q = state.acc + qSize;
    std::fill_n(q, 2 * qSize, 0.0F);
    for (std::int64_t row = 0; row < m_numRows; ++row) {
        const float* from = call.q + call.rowOffset(batch, kvHead, row);
        for (std::int64_t d = 0; d < call.headDim; ++d)
            q[row * m_accStride + d] = from[d] * call.scale;
    }
    std::fill_n(state.max, m_numRows, kNoScore);
    std::fill_n(state.sum, m_numRows, 0.0F);
    std::fill_n(state.acc, m_numRows * m_accStride, 0.0F);

    std::array<VisibleKeys, DecodeBlock::kMaxRows> visible;
    call.forBlocks(begin, end, keysPerBlock(call),
                   [&](const KVPiece& piece, std::int64_t from, std::int64_t to) {
                       DecodeBlock block;
                       block.q = q;
                       block.qScratch = q + qSize;
                       block.numRows = static_cast<int>(m_numRows);
                       block.numKeys = static_cast<int>(to - from);
                       block.headDim = call.headDim;
                       block.keys = piece.keyRows(batch, kvHead).from(from - piece.firstPosition);
                       block.values =
                           piece.valueRows(batch, kvHead).from(from - piece.firstPosition);
                       block.softCap = call.softCap;
                       block.isStreamed = call.isStreamed;
                       block.state = state;
                       if (call.fillVisible(0, m_numRows, from, to, visible.data()))
                           block.visible = visible.data();
                       m_simd.decodeBlock(block);
                   });
}

void DecodeAttention::mergeParts(std::int64_t head, float* states) const
{
    const CpuAttention& call = m_call;
    const auto first = state(states, head * m_numParts);
    for (std::int64_t row = 0; row < m_numRows; ++row) {
        float* acc = first.acc + row * m_accStride;
        for (std::int64_t part = 1; part < m_numParts; ++part) {
            const auto other = state(states, head * m_numParts + part);
            const float max = std::max(first.max[row], other.max[row]);
            const float scaleFirst = std::exp(first.max[row] - max);
            const float scaleOther = std::exp(other.max[row] - max);
            const float* otherAcc = other.acc + row * m_accStride;
            for (std::int64_t d = 0; d < call.headDim; ++d)
                acc[d] = acc[d] * scaleFirst + otherAcc[d] * scaleOther;
            first.sum[row] = first.sum[row] * scaleFirst + other.sum[row] * scaleOther;
            first.max[row] = max;
        }
        call.finishRow(head / call.numKvHeads, head % call.numKvHeads, row, first.max[row],
                       first.sum[row], acc);
    }
}

void attendDecode(const CpuAttention& call, const AttentionSimd& simd)
{
    const std::int64_t threads = at::in_parallel_region() ? 1 : at::get_num_threads();
    const bool isParallel =
        threads > 1 && DecodeAttention(call, simd, 1).multiplyAdds() >= kSerialWork;
    const DecodeAttention attention(call, simd, isParallel ? threads : 1);
    // Kept from call to call: a decode step allocates nothing but its output.
    thread_local std::vector<float> kept;
    kept.resize(std::max(kept.size(), static_cast<std::size_t>(attention.stateFloats())));
    float* states = kept.data();
    const auto attendItems = [&](std::int64_t begin, std::int64_t end) {
        attention.attend(begin, end, states);
    };
    if (isParallel)
        at::parallel_for(0, attention.numItems(), 1, attendItems);
    else
        attendItems(0, attention.numItems());
    attention.merge(0, attention.numHeads(), states);
}

} // namespace kvscope
