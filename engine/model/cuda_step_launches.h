#pragma once

#include "engine/cache/mixed_kv_cache.h"
#include "engine/kernels/cuda/step_launches.h"
#include "engine/model/cuda_step_buffers.h"
#include "engine/model/decoder_weights.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <vector>

namespace kvscope {

/// A layer's routed experts on the device: a StepMatrix for each, as int64 [experts, 2].
struct ExpertTables
{
    at::Tensor gate;
    at::Tensor up;
    at::Tensor down;
};

/// Undefined tables where the layer is dense.
ExpertTables expertTables(const LayerWeights& weights);

/// What the launches of a step are made of; all of it stays where it is while they are used.
struct CudaStepParts
{
    const ModelConfig& config;
    const DecoderWeights& weights;
    std::span<const std::size_t> rotaryOfLayer;
    std::span<const ExpertTables> experts; ///< by layer
    const CudaStepBuffers& buffers;
    int multiprocessors;
};

struct CudaStepLaunches
{
    std::vector<StepLaunch> launches;
    at::Tensor scratch; ///< for what attention's splits leave
};

/// A step's kernels in order, on the slots of a cache. \pre CudaStep::supports(), every layer has
/// slots
CudaStepLaunches cudaStepLaunches(const CudaStepParts& parts, const MixedKVCache& cache);

} // namespace kvscope
