#pragma once

#include "engine/kernels/cuda_number.h"

#include <ATen/core/Tensor.h>

namespace kvscope {

/// How a tensor's numbers are stored, for a kernel. \throws c10::Error where none takes them
inline CudaNumber cudaNumberOf(const at::Tensor& tensor)
{
    switch (tensor.scalar_type()) {
    case at::kFloat:
        return CudaNumber::Float32;
    case at::kBFloat16:
        return CudaNumber::BFloat16;
    case at::kHalf:
        return CudaNumber::Float16;
    default:
        TORCH_CHECK(false, "no CUDA kernel of ours takes ", tensor.scalar_type());
    }
}

} // namespace kvscope
