#pragma once

// Included by .cu files: nothing of LibTorch, which costs nvcc half a minute.

#include "engine/checkpoint/storage_type.h"
#include "engine/kernels/cuda/cuda_number.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace kvscope {

/// Rows of x in one launch.
constexpr int kMostProductInputs = 4;

/// y = x W^T for a few rows of x and a weight in a block format, whose blocks are read once where
/// they lie and never expanded in memory.
///
/// A warp has four rows of W. It copies a stretch of 2,048 columns of a row into shared memory, in
/// whole words; then each lane takes groups of 32 weights apart (block_readers.h) and multiplies
/// them with the same stretch of x. Sums are float32.
/// Compiled for sm_80 and sm_90; run on a CPU by tst_cuda_kernels_on_cpu, not on a GPU so far.
struct WeightProductLaunch
{
    StorageType type;        ///< a block format
    const std::byte* weight; ///< row 0, at any address
    std::int64_t rowBytes;
    int rows;
    int cols;
    CudaNumber number; ///< of x and y
    const void* x;     ///< [numInputs, cols] contiguous
    void* y;           ///< [numInputs, rows] contiguous
    int numInputs;     ///< 1 to kMostProductInputs
};

/// Queues the kernel on the current device. \returns cudaErrorInvalidValue for another format
cudaError_t launchWeightProduct(const WeightProductLaunch& launch, cudaStream_t stream);

} // namespace kvscope
