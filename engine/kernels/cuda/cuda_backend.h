#pragma once

#include "engine/checkpoint/model_config.h"
#include "engine/kernels/attention/attention.h"
#include "engine/kernels/cuda/step_runner.h"
#include "engine/kernels/cuda/top_logits_launch.h"
#include "engine/kernels/linear/weight_matrix.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kvscope {

/// What the program and the CUDA module must have in common.
struct CudaInterface
{
    /// Raised with every change of what they hand each other that no size shows.
    static constexpr std::size_t kNumber = 1;

    std::size_t number = kNumber;
    std::size_t kernelsSize = 0; ///< sizeof(CudaKernels)
    std::size_t launchSize = sizeof(StepLaunch);
    std::size_t topSize = sizeof(TopLogits);

    bool operator==(const CudaInterface&) const = default;
};

/// What the CUDA module (libkvscope_cuda.so) offers. It is a library of its own so that programs
/// that stay on the CPU never load LibTorch's CUDA half, some 1 GB.
struct CudaKernels
{
    /// Of who built it: one of another interface is not called.
    CudaInterface interface;
    /// Devices that can be used; 0 where the driver reports an error.
    int (*deviceCount)();
    /// Of a device's memory (of its part, under MIG) what tensors may still take: what is free, and
    /// what LibTorch's allocator has and no tensor does.
    std::uint64_t (*freeBytes)(int device);
    /// attention() for one token; see decode_attention_launch.h for its limits, which the caller
    /// has checked.
    at::Tensor (*decodeAttention)(const at::Tensor& q, const KVView& view,
                                  std::int64_t firstQueryPosition,
                                  const AttentionSettings& settings);
    /// linear() for a few rows of x and a weight in a block format; see weight_product.h.
    /// \param x  [N, in] contiguous float32, bfloat16 or float16
    at::Tensor (*weightProduct)(const at::Tensor& x, const WeightMatrix& weight);
    /// Those of elementwise.h; see elementwise_cuda.h.
    at::Tensor (*rmsNorm)(const at::Tensor& x, const at::Tensor& gain, double epsilon);
    void (*rotate)(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                   RotaryPairing pairing);
    at::Tensor (*gated)(const at::Tensor& gate, const at::Tensor& up, Activation activation);
    /// See top_logits_launch.h. Waits for the result. \param logits  [V] contiguous float32
    void (*topLogits)(const at::Tensor& logits, double temperature, TopLogits& result);
    /// As makeCudaStepRunner() of step_runner_cuda.h.
    std::unique_ptr<StepRunner> (*makeStepRunner)(c10::Device device);
};

/// Loads LibTorch's CUDA libraries and our CUDA kernels, once; later calls return at once.
/// Thread-safe.
///
/// Call it before the first tensor is made: LibTorch asks once whether CUDA is there, at the first
/// operation that might want to know, and keeps the answer.
/// \throws ArgumentError saying what is missing (CUDA kernels in this build, an NVIDIA driver, a
/// GPU, one of the libraries), or that CUDA was asked for too late
void ensureCudaBackend();

/// The loaded kernels, or null before ensureCudaBackend() succeeded.
const CudaKernels* cudaKernels();

/// Whether the build compiled CUDA kernels (there was a CUDA 13 compiler).
bool hasCudaBuild();

} // namespace kvscope
