#pragma once

#include "engine/kernels/cuda/cuda_number.h"

#include <cstdint>

namespace kvscope {

/// Limits of the CUDA decode kernel; attention() uses attentionInBlocks() beyond them.
constexpr int kDecodeMaxGroup = 16;    ///< query heads per key/value head
constexpr int kDecodeMaxHeadDim = 256; ///< and even
constexpr int kDecodeMostSplits = 512; ///< whose weights one block merges

/// Keys and values of consecutive positions; strides in elements along batch, heads and positions,
/// all even, the last dimension contiguous, both aligned to two elements. In int8 and fp8 the head
/// dimension, the strides and the addresses are multiples of four, for the scales.
struct DecodePiece
{
    const void* keys;
    const void* values;
    std::int64_t keyStrides[3];
    std::int64_t valueStrides[3];
    std::int64_t firstPosition;
    std::int64_t length;
};

/// Attention of one token per sequence over the positions [begin, end) of up to three pieces.
///
/// Blocks split the positions ("flash decoding"): block (split, key/value head, sequence) scores a
/// tile of keys for all query heads of its group, so that a key is read once, and keeps a running
/// softmax in float32. A second, small kernel merges the splits by log-sum-exp:
///   out = sum_s acc_s exp(max_s - m) / (sum_s sum_s exp(max_s - m) + exp(sink - m)).
/// Compiled for sm_80 and sm_90; run on a CPU by tst_cuda_kernels_on_cpu, not on a GPU so far.
struct DecodeAttentionLaunch
{
    CudaNumber queryType; ///< of q and out
    const void* q;        ///< [B, H, D] contiguous
    void* out;            ///< [B, H, D] contiguous
    const float* sinks;   ///< [H], or null
    CudaNumber keyType;   ///< of every piece
    DecodePiece pieces[3];
    int numPieces;
    /// Where position p lies in slot p % capacity of pieces[0]; 0: in pieces.
    std::int64_t capacity;
    /// The query's, on the device, where a launch is the same from step to step: begin, end and
    /// keysPerSplit below are then not read but found there. Null: they are given.
    const std::int64_t* position;
    std::int64_t window; ///< with `position`; 0: all positions are seen
    int batch;
    int numKvHeads;
    int group; ///< query heads per key/value head
    int headDim;
    float scale;
    std::int64_t begin;
    std::int64_t end;
    int numSplits;             ///< at most kDecodeMostSplits
    std::int64_t keysPerSplit; ///< numSplits * keysPerSplit >= end - begin
    float* partialValues;      ///< scratch [B, H, numSplits, D]
    float* partialStates;      ///< scratch [B, H, numSplits, 2]: max, sum
};

/// Splits so that there are about eight blocks a multiprocessor, none with less than a tile of 64
/// keys. By arithmetic: an H200 needs some 22 KB a multiprocessor on the way from memory
/// (4.8 TB/s, 600 ns), and a warp asks for 512 bytes of bfloat16 at a time (of eight bits for 256),
/// eight blocks for 16 KB. \param launch  with batch, heads, begin and end
inline void planSplits(DecodeAttentionLaunch& launch, int multiprocessors)
{
    const std::int64_t numKeys = launch.end - launch.begin;
    const std::int64_t blocks = static_cast<std::int64_t>(launch.batch) * launch.numKvHeads;
    const std::int64_t wanted = (8 * multiprocessors + blocks - 1) / blocks;
    std::int64_t splits = numKeys / 64;
    splits = splits < wanted ? splits : wanted;
    splits = splits < kDecodeMostSplits ? splits : kDecodeMostSplits;
    launch.numSplits = static_cast<int>(splits < 1 ? 1 : splits);
    launch.keysPerSplit = (numKeys + launch.numSplits - 1) / launch.numSplits;
}

/// Splits of a launch with `position`: as many as its slots are worth. Of what is stored by then
/// each takes whole tiles, so that the last ones may have none.
inline void planSlotSplits(DecodeAttentionLaunch& launch, int multiprocessors)
{
    launch.begin = 0;
    launch.end =
        launch.window > 0 && launch.window < launch.capacity ? launch.window : launch.capacity;
    planSplits(launch, multiprocessors);
}

} // namespace kvscope
