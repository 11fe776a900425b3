#pragma once

// Included by .cu files: nothing of LibTorch, which costs nvcc half a minute.

#include "engine/kernels/cuda/top_logits_launch.h"

#include <cuda_runtime_api.h>

namespace kvscope {

/// Queues the kernel on the current device.
cudaError_t launchTopLogits(const TopLogitsLaunch& launch, cudaStream_t stream);

} // namespace kvscope
