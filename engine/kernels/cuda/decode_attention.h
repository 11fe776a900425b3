#pragma once

// Included by .cu files: nothing of LibTorch, which costs nvcc half a minute.

#include "engine/kernels/cuda/decode_attention_launch.h"

#include <cuda_runtime_api.h>

namespace kvscope {

/// Queues both kernels on the current device.
cudaError_t launchDecodeAttention(const DecodeAttentionLaunch& launch, cudaStream_t stream);

} // namespace kvscope
