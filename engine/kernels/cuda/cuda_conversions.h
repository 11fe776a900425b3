#pragma once

#include "engine/checkpoint/model_config.h"
#include "engine/kernels/cuda/cuda_gating.h"
#include "engine/kernels/cuda/cuda_number.h"

#include <ATen/core/Tensor.h>

// What CUDA kernels call the things of the program. Nothing of CUDA is needed.

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

/// The same of cached keys or values.
inline CudaNumber cachedNumberOf(const at::Tensor& rows)
{
    switch (rows.scalar_type()) {
    case at::kChar:
        return CudaNumber::Int8;
    case at::kFloat8_e4m3fn:
        return CudaNumber::Fp8;
    default:
        return cudaNumberOf(rows);
    }
}

/// \throws c10::Error for Activation::Gelu, which no kernel computes
inline CudaGating cudaGating(Activation activation)
{
    const auto gating = [](CudaActivation each) {
        return CudaGating{each, static_cast<float>(kClampedSiluAlpha),
                          static_cast<float>(kClampedSiluLimit)};
    };
    switch (activation) {
    case Activation::Silu:
        return gating(CudaActivation::Silu);
    case Activation::GeluTanh:
        return gating(CudaActivation::GeluTanh);
    case Activation::ClampedSilu:
        return gating(CudaActivation::ClampedSilu);
    case Activation::Gelu:
        break;
    }
    TORCH_CHECK(false, "gated: no CUDA kernel for GELU by erf");
}

} // namespace kvscope
