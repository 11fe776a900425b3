#pragma once

#include "engine/kernels/attention/attention.h"
#include "engine/kernels/attention/attention_simd.h"
#include "engine/kernels/cpu_features.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace kvscope {

/// One KVSegment as pointers; strides in elements, along the batch, the heads and the positions.
struct KVPiece
{
    const std::byte* keys = nullptr;
    const std::byte* values = nullptr;
    std::array<std::int64_t, 3> keyStrides{};
    std::array<std::int64_t, 3> valueStrides{};
    KVType type = KVType::Float32;
    std::int64_t firstPosition = 0;
    std::int64_t length = 0;

    KVRows keyRows(std::int64_t batch, std::int64_t head) const;
    KVRows valueRows(std::int64_t batch, std::int64_t head) const;
};

/// One call of attention() as pointers and sizes, checked. Borrows the tensors' memory.
///
/// The T queries of the G query heads that share a key/value head are treated together, as rows
/// r = t * G + g, so that its keys and values are read once for all of them.
struct CpuAttention
{
    const float* q = nullptr;     ///< [B, T, H, D]
    float* out = nullptr;         ///< [B, T, H, D]
    const float* sinks = nullptr; ///< [H], or null
    std::int64_t batch = 0;
    std::int64_t numTokens = 0;
    std::int64_t numHeads = 0;
    std::int64_t numKvHeads = 0;
    std::int64_t headDim = 0;
    float scale = 1.0F;
    float softCap = 0.0F; ///< 0: none
    std::int64_t window = 0;
    std::int64_t firstQueryPosition = 0;
    bool isExact = false;      ///< AttentionSettings
    bool isStreamed = false;   ///< likewise
    std::int64_t numParts = 0; ///< of the key range in attendDecode; 0: decodeParts()
    std::array<KVPiece, 3> pieces;
    std::size_t numPieces = 0;

    std::int64_t group() const { return numHeads / numKvHeads; }
    std::int64_t numRows() const { return numTokens * group(); }
    std::int64_t position(std::int64_t row) const { return firstQueryPosition + row / group(); }
    /// Elements before a row's first in q and in out.
    std::int64_t rowOffset(std::int64_t batchIndex, std::int64_t kvHead, std::int64_t row) const
    {
        const auto token = batchIndex * numTokens + row / group();
        return (token * numHeads + kvHead * group() + row % group()) * headDim;
    }
    /// First position that the rows from `row` on can see.
    std::int64_t visibleBegin(std::int64_t row) const;
    /// The keys of [begin, end) that each of numRows rows from firstRow on may see, to `visible`.
    /// \returns whether that is not all of them for every row.
    bool fillVisible(std::int64_t firstRow, std::int64_t numRows, std::int64_t begin,
                     std::int64_t end, VisibleKeys* visible) const;
    /// Divides a row's state by its sum, the sink's part included, and stores it in `out`. Equal to
    /// the plain softmax times sigmoid(lse - sink): acc / sum / (1 + exp(sink - lse)).
    void finishRow(std::int64_t batchIndex, std::int64_t kvHead, std::int64_t row, float max,
                   float sum, const float* acc) const;
    /// Calls visit(piece, begin, end) for blocks of at most maxKeys positions of [begin, end), each
    /// within one piece.
    template <typename Visit>
    void forBlocks(std::int64_t begin, std::int64_t end, std::int64_t maxKeys, Visit visit) const
    {
        for (std::size_t i = 0; i < numPieces; ++i) {
            const auto& piece = pieces[i];
            const auto pieceEnd = std::min(end, piece.firstPosition + piece.length);
            for (auto at = std::max(begin, piece.firstPosition); at < pieceEnd; at += maxKeys)
                visit(piece, at, std::min(at + maxKeys, pieceEnd));
        }
    }
};

/// Parts of the key range with which `heads` (sequences times key/value heads) share out evenly
/// among `threads`: the fewest.
std::int64_t decodeParts(std::int64_t heads, std::int64_t threads);

/// attendDecode() in pieces, for threads that share them out themselves.
class DecodeAttention
{
public:
    /// \param call  copied; of at most DecodeBlock::kMaxRows rows
    /// \param numThreads  that are to share the items evenly
    DecodeAttention(const CpuAttention& call, const AttentionSimd& simd, std::int64_t numThreads);

    std::int64_t numHeads() const { return m_call.batch * m_call.numKvHeads; }
    /// Pieces of work that do not touch each other.
    std::int64_t numItems() const { return numHeads() * m_numParts; }
    /// Of the scratch memory that all items share.
    std::int64_t stateFloats() const { return numItems() * floatsOfItem(); }
    /// Of all items.
    std::int64_t multiplyAdds() const;
    /// Whether a head has several items, which merge() puts together.
    bool isSplit() const { return m_numParts > 1; }

    void attend(std::int64_t firstItem, std::int64_t endItem, float* states) const;
    /// Once all items are done; nothing to do where heads are not split.
    void merge(std::int64_t firstHead, std::int64_t endHead, float* states) const;

private:
    /// Per row the largest score, the sum, accStride weighted sums, and the query twice.
    std::int64_t floatsOfItem() const { return m_numRows * (3 * m_accStride + 2); }
    SoftmaxState state(float* states, std::int64_t item) const
    {
        float* at = states + item * floatsOfItem();
        return {at, at + m_numRows, at + 2 * m_numRows, m_accStride};
    }
    /// One head's rows over one part of the keys.
    void attendPart(std::int64_t item, float* states) const;
    /// Merges the parts of one head by log-sum-exp into the first, and stores its rows.
    void mergeParts(std::int64_t head, float* states) const;

    CpuAttention m_call;
    const AttentionSimd& m_simd;
    std::int64_t m_begin; ///< first key position that any row sees
    std::int64_t m_end = 0;
    std::int64_t m_numRows;
    std::int64_t m_accStride;
    std::int64_t m_numParts = 1; ///< of the key range
    std::int64_t m_keysPerPart = 0;
};

/// Few rows (at most DecodeBlock::kMaxRows): threads split heads and parts of the key range, and
/// the parts are merged by log-sum-exp ("flash decoding").
void attendDecode(const CpuAttention& call, const AttentionSimd& simd);

/// Any number of rows: threads take blocks of rows, each against all the keys it sees ("flash
/// attention").
void attendPrefill(const CpuAttention& call, const AttentionSimd& simd);

/// What attention() is asked for, as pointers. \param out  as q
/// \param q  [B, T, H, D] contiguous float32
CpuAttention cpuAttention(const float* q, float* out, at::IntArrayRef shape, const KVView& view,
                          std::int64_t firstQueryPosition, const AttentionSettings& settings);

/// The inner loops of an instruction set, which must be available here; all in float32.
const AttentionSimd& attentionSimd(InstructionSet instructions);
/// The loops of attention_integers.h that this processor has; null: none.
const PrefillSimd* integerPrefill();

/// attention() for tensors on the CPU with the inner loops given.
/// \param numParts  of the key range for few queries, to measure with; 0: decodeParts()
at::Tensor attentionOnCpu(const at::Tensor& q, const KVView& view, std::int64_t firstQueryPosition,
                          const AttentionSettings& settings, const AttentionSimd& simd,
                          std::int64_t numParts = 0);

} // namespace kvscope
