#pragma once

#include "engine/checkpoint/storage_type.h"
#include "engine/kernels/cuda/cuda_gating.h"
#include "engine/kernels/cuda/cuda_number.h"
#include "engine/kernels/cuda/decode_attention_launch.h"

#include <cstddef>
#include <cstdint>
#include <variant>

namespace kvscope {

// The kernels of a decode step of one token on CUDA, all float32 between them. A step is the same
// launches in the same order every time: what differs lies in StepToken, on the device.
// Compiled for sm_80 and sm_90; run on a CPU by tst_cuda_step_on_cpu, not on a GPU so far.

/// What differs from step to step: kernels read it on the device, so that launches stay the same.
struct StepToken
{
    std::int64_t id;
    std::int64_t position;
};

/// x = scale * row id of the embedding.
struct EmbedLaunch
{
    StorageType type;
    const std::byte* rows;
    std::int64_t rowBytes;
    const StepToken* token;
    float scale;
    float* x; ///< [width]
    int width;
};

/// Heads of one token as projected: each query and key normalised and rotated, keys and values
/// stored in the slot of the token's position.
struct StoreHeadsLaunch
{
    const StepToken* token;
    const float* q;         ///< [numHeads, headDim]
    const float* k;         ///< [numKvHeads, headDim]
    const float* v;         ///< [numKvHeads, headDim]
    const float* queryGain; ///< RMSNorm of queries; null: none
    const float* keyGain;
    bool normsAll; ///< all heads together, gains [heads, headDim]; else each head, gains [headDim]
    float epsilon;
    const float* cos; ///< [pairs] on the device; null: not rotated
    const float* sin;
    int pairs;
    bool isAdjacent;  ///< pair i is (2i, 2i+1), else (i, i + pairs)
    float* turned;    ///< [numHeads, headDim], the queries
    CudaNumber cache; ///< of keys and values
    void* keys;       ///< [numKvHeads, capacity, row]; int8 and fp8 rows as scaled_rows.h has them
    void* values;
    std::int64_t keyHeadStride; ///< in numbers, from a head to the next
    std::int64_t valueHeadStride;
    std::int64_t capacity; ///< position p lies in slot p % capacity
    int numHeads;
    int numKvHeads;
    int headDim; ///< at most kDecodeMaxHeadDim
};

constexpr int kStepMostExperts = 1024;
constexpr int kStepMostShared = 32; ///< experts that are always visited

/// The most probable experts of softmax(logits), of equals the one of the smaller number, and how
/// much each counts.
struct ChooseExpertsLaunch
{
    const float* logits; ///< [numExperts]
    int numExperts;      ///< at most kStepMostExperts
    int numActive;
    bool normalises;         ///< the chosen ones' probabilities are made to sum to 1
    const float* sharedGate; ///< a logit: shared experts count its sigmoid; null: 1
    int numShared;           ///< at most kStepMostShared
    int* experts;            ///< [numActive], highest probability first
    float* weights;          ///< [numActive + numShared]
};

/// residual += scale * norm(sum of weighted parts).
struct AddPartsLaunch
{
    float* residual;    ///< [width]
    const float* parts; ///< [numParts, width]
    int numParts;
    const float* weights; ///< [numParts]; null: 1
    const float* gain;    ///< [width] of an RMSNorm; null: none
    float epsilon;
    float scale;
    int width;
};

/// Matrices of one StepProductLaunch.
constexpr int kMostStepParts = 3;

/// A matrix as a kernel finds it.
struct StepMatrix
{
    const std::byte* weight; ///< row 0; of plain numbers aligned to one
    const float* bias;       ///< [rows]; null: none
};

/// One of the matrices that multiply the same input.
struct StepProductPart
{
    StepMatrix matrix;           ///< where ofExperts is null
    const StepMatrix* ofExperts; ///< on the device, by expert
    int rows;
    float* y; ///< [visits, rows]
};

/// y = W x + b of one token in a decode step, W plain or in a block format, with what comes before
/// and after fused: x is normalised or gated as it is read, y stored or added to the residual.
/// Sums are float32. With experts there are several visits, each with the matrix of the expert that
/// it is told on the device, so that nothing waits for the host to learn who was chosen.
///
/// A warp has a few rows; weight_groups.cuh has how it reads blocks. Plain rows are read sixteen
/// bytes a lane where they are aligned so.
/// Compiled for sm_80 and sm_90; run on a CPU by tst_cuda_step_on_cpu, not on a GPU so far.
struct StepProductLaunch
{
    StorageType type; ///< of all parts
    StepProductPart parts[kMostStepParts];
    int numParts;
    int cols;
    std::int64_t rowBytes;
    const float* x;       ///< [cols] of visit 0
    std::int64_t xStride; ///< from a visit's x to the next one's; 0: all have the same
    const float* gain;    ///< [cols] of an RMSNorm of x; null: none
    float epsilon;
    const float* up; ///< as x, which becomes act(x) * up; null: none
    CudaGating gating;
    const int* experts; ///< [visits] on the device, where parts have ofExperts
    int visits;         ///< 1 without experts
    bool adds;          ///< y += scale * product, where visits is 1
    float scale;
};

/// One kernel of a step, or attention's two.
using StepLaunch = std::variant<EmbedLaunch, StepProductLaunch, StoreHeadsLaunch,
                                DecodeAttentionLaunch, ChooseExpertsLaunch, AddPartsLaunch>;

} // namespace kvscope
