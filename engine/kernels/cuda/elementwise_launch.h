#pragma once

// Included by .cu files: nothing of LibTorch, which costs nvcc half a minute.

#include "engine/kernels/cuda/cuda_gating.h"
#include "engine/kernels/cuda/cuda_number.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace kvscope {

// Functions of elementwise.h as one CUDA kernel each, where tensor operations take five to ten.
// Compiled for sm_80 and sm_90; run on a CPU by tst_cuda_kernels_on_cpu, not on a GPU so far.

/// rmsNorm(): a block has a row.
struct RmsNormLaunch
{
    CudaNumber number; ///< of x and out
    const void* x;     ///< [rows, width] contiguous
    const float* gain; ///< [width]
    void* out;         ///< as x
    int rows;
    int width;
    float epsilon;
};

/// rotate(): a block has the heads of a position.
struct RotateLaunch
{
    CudaNumber number;
    void* x;                 ///< [batch, tokens, heads, 2 * pairs], the last dimension contiguous
    std::int64_t strides[3]; ///< in elements, of the first three
    const float* cos;        ///< [tokens, pairs]
    const float* sin;
    int batch;
    int tokens;
    int heads;
    int pairs;
    bool isAdjacent; ///< pair i is (2i, 2i+1), else (i, i + pairs)
};

/// gated(): a block has a stretch of a row.
struct GatedLaunch
{
    CudaNumber number;
    const void* gate; ///< [rows, width], rows gateStride elements apart
    const void* up;
    std::int64_t gateStride;
    std::int64_t upStride;
    void* out; ///< [rows, width] contiguous
    int rows;
    int width;
    CudaGating gating;
};

/// Each queues its kernel on the current device; nothing where there are no elements.
cudaError_t launchRmsNorm(const RmsNormLaunch& launch, cudaStream_t stream);
cudaError_t launchRotate(const RotateLaunch& launch, cudaStream_t stream);
cudaError_t launchGated(const GatedLaunch& launch, cudaStream_t stream);

} // namespace kvscope
