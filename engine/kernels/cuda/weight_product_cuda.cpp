// The tensor side of the CUDA product with blocks; compiled into libkvscope_cuda.so alone.

#include "engine/kernels/cuda/weight_product_cuda.h"

#include "engine/kernels/cuda/cuda_launches.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <climits>

namespace kvscope {

at::Tensor weightProductOnCuda(const at::Tensor& x, const WeightMatrix& weight)
{
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 2 && x.size(1) == weight.cols,
                "weight product: x must be contiguous CUDA [N, ", weight.cols, "], not ",
                x.sizes());
    // linear() has checked the weight's shape.
    TORCH_CHECK(weight.data.device() == x.device() && weight.data.is_contiguous() &&
                    weight.rows <= INT_MAX && weight.cols <= INT_MAX,
                "weight product: the weight must be contiguous blocks beside x");
    const c10::cuda::CUDAGuard guard(x.device());
    const at::Tensor y = at::empty({x.size(0), weight.rows}, x.options());
    if (y.numel() == 0)
        return y;
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream().stream();
    for (std::int64_t first = 0; first < x.size(0); first += kMostProductInputs) {
        const std::int64_t count = std::min<std::int64_t>(kMostProductInputs, x.size(0) - first);
        C10_CUDA_CHECK(launchWeightProduct(
            weightProductLaunch(x.narrow(0, first, count), weight, y.narrow(0, first, count)),
            stream));
    }
    return y;
}

} // namespace kvscope
