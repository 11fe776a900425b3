#pragma once

#include "engine/cache/mixed_kv_cache.h"
#include "engine/kernels/cuda/step_runner.h"
#include "engine/model/decoder_weights.h"
#include "engine/model/rotary.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

namespace kvscope {

/// One token through every layer on CUDA, as a fixed sequence of kernels: weights and the cache's
/// slots stay where they are, and what differs from step to step (the token, its position and its
/// rotation) is copied to the device before. So the sequence can be captured as a graph, and
/// nothing of a step waits for the host, the choice of experts included.
///
/// Between kernels all is float32, whatever the compute type. Borrows the configuration and the
/// weights. Engine thread.
class CudaStep
{
public:
    /// Whether the kernels have all that the model asks for.
    static bool supports(const ModelConfig& config, const DecoderWeights& weights);

    /// \param rotaryOfLayer  which of the rows that run() is given a layer rotates by
    /// \pre supports(config, weights)
    CudaStep(const ModelConfig& config, const DecoderWeights& weights,
             std::span<const std::size_t> rotaryOfLayer, std::unique_ptr<StepRunner> runner);
    ~CudaStep();
    CudaStep(const CudaStep&) = delete;
    CudaStep& operator=(const CudaStep&) = delete;

    /// Whether a cache has slots that the kernels can write: batch 1, and of int8 and fp8 head
    /// sizes that are multiples of four.
    static bool canFill(const MixedKVCache& cache);

    /// Queues the step and counts its position in the cache.
    /// \param rows  of the position, on the CPU, one for each rotation there is
    /// \param cache  \pre canFill(cache); where it grew or is another one than in the step before,
    ///               the sequence is made anew
    /// \returns logits [1, 1, V] of the unscaled head, float32 on the device
    /// The logits are always computed, wanted or not: so the sequence stays the same.
    /// \throws Stopped, MemoryError, c10::Error where memory of the device ends or the cache is not
    ///         one for this model; the cache is then as it was. c10::Error where a kernel cannot be
    ///         run; the cache is then not to be gone on with
    at::Tensor run(std::int64_t id, std::span<const RotaryRows> rows, MixedKVCache& cache,
                   const std::stop_token& stop);

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace kvscope
