// The tensor side of the CUDA kernel for samplers; compiled into libkvscope_cuda.so alone.

#include "engine/kernels/cuda/top_logits_cuda.h"

#include "engine/kernels/cuda/top_logits.h"

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace kvscope {

void topLogitsOnCuda(const at::Tensor& logits, double temperature, TopLogits& result)
{
    TORCH_CHECK(logits.is_cuda() && logits.dim() == 1 && logits.is_contiguous() &&
                    logits.scalar_type() == at::kFloat,
                "top logits: logits must be contiguous CUDA float32 [V], not ", logits.sizes());
    const c10::cuda::CUDAGuard guard(logits.device());
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream().stream();
    const at::Tensor onDevice = at::empty({static_cast<std::int64_t>(sizeof(TopLogits))},
                                          logits.options().dtype(at::kByte));
    TopLogitsLaunch launch{};
    launch.logits = logits.const_data_ptr<float>();
    launch.count = static_cast<int>(logits.size(0));
    launch.temperature = static_cast<float>(temperature);
    launch.result = static_cast<TopLogits*>(onDevice.mutable_data_ptr());
    C10_CUDA_CHECK(launchTopLogits(launch, stream));
    C10_CUDA_CHECK(
        cudaMemcpyAsync(&result, launch.result, sizeof result, cudaMemcpyDeviceToHost, stream));
    C10_CUDA_CHECK(cudaStreamSynchronize(stream));
}

} // namespace kvscope
