// The tensor side of the CUDA product with blocks; compiled into libkvscope_cuda.so alone.

#include "engine/kernels/weight_product_cuda.h"

#include "engine/kernels/cuda_tensors.h"
#include "engine/kernels/weight_product.h"

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
    TORCH_CHECK(weight.data.device() == x.device() && weight.data.scalar_type() == at::kByte &&
                    weight.data.is_contiguous() && weight.rows <= INT_MAX &&
                    weight.cols <= INT_MAX && weight.data.dim() == 2 &&
                    weight.data.size(0) == weight.rows &&
                    weight.data.size(1) ==
                        weight.cols / blockElements(weight.type) * blockBytes(weight.type),
                "weight product: the weight must be contiguous blocks beside x");
    const c10::cuda::CUDAGuard guard(x.device());
    const at::Tensor y = at::empty({x.size(0), weight.rows}, x.options());
    if (y.numel() == 0)
        return y;
    WeightProductLaunch launch{};
    launch.type = weight.type;
    launch.weight = static_cast<const std::byte*>(weight.data.const_data_ptr());
    launch.rowBytes = weight.data.size(1);
    launch.blockBytes = static_cast<int>(blockBytes(weight.type));
    launch.rows = static_cast<int>(weight.rows);
    launch.cols = static_cast<int>(weight.cols);
    launch.number = cudaNumberOf(x);
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream().stream();
    for (std::int64_t first = 0; first < x.size(0); first += kMostProductInputs) {
        launch.numInputs =
            static_cast<int>(std::min<std::int64_t>(kMostProductInputs, x.size(0) - first));
        launch.x = x[first].const_data_ptr();
        launch.y = y[first].mutable_data_ptr();
        C10_CUDA_CHECK(launchWeightProduct(launch, stream));
    }
    return y;
}

} // namespace kvscope
