// The tensor side of the CUDA decode kernel and the module's entry; compiled into
// libkvscope_cuda.so alone.

#include "engine/kernels/cuda/cuda_backend.h"
#include "engine/kernels/cuda/cuda_launches.h"
#include "engine/kernels/cuda/elementwise_cuda.h"
#include "engine/kernels/cuda/step_runner_cuda.h"
#include "engine/kernels/cuda/top_logits_cuda.h"
#include "engine/kernels/cuda/weight_product_cuda.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kvscope {

namespace {

at::Tensor decodeAttention(const at::Tensor& q, const KVView& view, std::int64_t firstQueryPosition,
                           const AttentionSettings& settings)
{
    TORCH_CHECK(
        q.is_cuda() && q.is_contiguous() && q.size(1) == 1 && q.size(3) % 2 == 0 &&
            q.size(3) <= kDecodeMaxHeadDim,
        "decode attention: queries must be contiguous CUDA [B, 1, H, D], D even and at most ",
        kDecodeMaxHeadDim, ", not ", q.sizes());
    const c10::cuda::CUDAGuard guard(q.device());
    const auto out = at::empty(q.sizes(), q.options());
    DecodeAttentionLaunch launch =
        decodeAttentionLaunch(q, view, firstQueryPosition, settings, out);
    TORCH_CHECK(launch.group <= kDecodeMaxGroup, "decode attention: more than ", kDecodeMaxGroup,
                " query heads per key/value head");
    int multiprocessors = 1;
    C10_CUDA_CHECK(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, q.get_device()));
    planSplits(launch, multiprocessors);
    const DecodePartials partials = allocatePartials(launch, q);
    C10_CUDA_CHECK(launchDecodeAttention(launch, c10::cuda::getCurrentCUDAStream().stream()));
    return out;
}

int deviceCount()
{
    return c10::cuda::device_count();
}

std::uint64_t freeBytes(int device)
{
    namespace allocator = c10::cuda::CUDACachingAllocator;
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
    std::size_t free = 0;
    std::size_t total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    if (!allocator::get()->initialized())
        return free;
    const auto stats = allocator::getDeviceStats(static_cast<c10::DeviceIndex>(device));
    const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return free + static_cast<std::uint64_t>(std::max<std::int64_t>(
                      0, stats.reserved_bytes[all].current - stats.allocated_bytes[all].current));
}

constexpr CudaKernels kKernels{CudaInterface{.kernelsSize = sizeof(CudaKernels)},
                               deviceCount,
                               freeBytes,
                               decodeAttention,
                               weightProductOnCuda,
                               rmsNormOnCuda,
                               rotateOnCuda,
                               gatedOnCuda,
                               topLogitsOnCuda,
                               makeCudaStepRunner};

} // namespace

} // namespace kvscope

/// What ensureCudaBackend() looks up.
extern "C" [[gnu::visibility("default")]] const kvscope::CudaKernels* kvscopeCudaKernels()
{
    return &kvscope::kKernels;
}
