#pragma once

#include "engine/kernels/attention.h"
#include "engine/kernels/attention_simd.h"

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

/// Few rows (at most DecodeBlock::kMaxRows): threads split heads and parts of the key range, and
/// the parts are merged by log-sum-exp ("flash decoding").
void attendDecode(const CpuAttention& call, const AttentionSimd& simd);

/// Any number of rows: threads take blocks of rows, each against all the keys it sees ("flash
/// attention").
void attendPrefill(const CpuAttention& call, const AttentionSimd& simd);

/// attention() for tensors on the CPU with the inner loops given.
/// \param numParts  of the key range for few queries, to measure with; 0: decodeParts()
at::Tensor attentionOnCpu(const at::Tensor& q, const KVView& view, std::int64_t firstQueryPosition,
                          const AttentionSettings& settings, const AttentionSimd& simd,
                          std::int64_t numParts = 0);

} // namespace kvscope
