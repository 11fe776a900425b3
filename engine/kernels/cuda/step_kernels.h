#pragma once

// Included by .cu files: nothing of LibTorch, which costs nvcc half a minute.

#include "engine/kernels/cuda/step_launches.h"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace kvscope {

/// Each queues its kernel on the current device.
cudaError_t launchEmbed(const EmbedLaunch& launch, cudaStream_t stream);
/// \returns cudaErrorInvalidValue for a format that is neither plain floats nor blocks
cudaError_t launchStepProduct(const StepProductLaunch& launch, cudaStream_t stream);
cudaError_t launchStoreHeads(const StoreHeadsLaunch& launch, cudaStream_t stream);
cudaError_t launchChooseExperts(const ChooseExpertsLaunch& launch, cudaStream_t stream);
cudaError_t launchAddParts(const AddPartsLaunch& launch, cudaStream_t stream);

/// Queues all of them in order, up to the first error.
cudaError_t launchStep(const StepLaunch* launches, std::size_t count, cudaStream_t stream);

} // namespace kvscope
