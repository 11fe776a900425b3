// The tensor side of the CUDA kernels for elements; compiled into libkvscope_cuda.so alone.

#include "engine/kernels/elementwise_cuda.h"

#include "engine/kernels/cuda_tensors.h"
#include "engine/kernels/elementwise_launch.h"

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace kvscope {

namespace {

cudaStream_t currentStream()
{
    return c10::cuda::getCurrentCUDAStream().stream();
}

} // namespace

at::Tensor rmsNormOnCuda(const at::Tensor& x, const at::Tensor& gain, double epsilon)
{
    const c10::cuda::CUDAGuard guard(x.device());
    const at::Tensor out = at::empty(x.sizes(), x.options());
    RmsNormLaunch launch{};
    launch.number = cudaNumberOf(x);
    launch.x = x.const_data_ptr();
    launch.gain = gain.const_data_ptr<float>();
    launch.out = out.mutable_data_ptr();
    launch.rows = static_cast<int>(x.size(0));
    launch.width = static_cast<int>(x.size(1));
    launch.epsilon = static_cast<float>(epsilon);
    C10_CUDA_CHECK(launchRmsNorm(launch, currentStream()));
    return out;
}

void rotateOnCuda(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                  RotaryPairing pairing)
{
    const c10::cuda::CUDAGuard guard(x.device());
    RotateLaunch launch{};
    launch.number = cudaNumberOf(x);
    launch.x = x.mutable_data_ptr();
    for (int i = 0; i < 3; ++i)
        launch.strides[i] = x.stride(i);
    launch.cos = cos.const_data_ptr<float>();
    launch.sin = sin.const_data_ptr<float>();
    launch.batch = static_cast<int>(x.size(0));
    launch.tokens = static_cast<int>(x.size(1));
    launch.heads = static_cast<int>(x.size(2));
    launch.pairs = static_cast<int>(x.size(3) / 2);
    launch.isAdjacent = pairing == RotaryPairing::Adjacent;
    C10_CUDA_CHECK(launchRotate(launch, currentStream()));
}

at::Tensor gatedOnCuda(const at::Tensor& gate, const at::Tensor& up, Activation activation)
{
    TORCH_CHECK(activation != Activation::Gelu, "gated: no CUDA kernel for GELU by erf");
    const c10::cuda::CUDAGuard guard(gate.device());
    const at::Tensor out = at::empty(gate.sizes(), gate.options());
    GatedLaunch launch{};
    launch.number = cudaNumberOf(gate);
    launch.gate = gate.const_data_ptr();
    launch.up = up.const_data_ptr();
    launch.gateStride = gate.stride(0);
    launch.upStride = up.stride(0);
    launch.out = out.mutable_data_ptr();
    launch.rows = static_cast<int>(gate.size(0));
    launch.width = static_cast<int>(gate.size(1));
    launch.activation = activation == Activation::Silu       ? CudaActivation::Silu
                        : activation == Activation::GeluTanh ? CudaActivation::GeluTanh
                                                             : CudaActivation::ClampedSilu;
    launch.alpha = static_cast<float>(kClampedSiluAlpha);
    launch.limit = static_cast<float>(kClampedSiluLimit);
    C10_CUDA_CHECK(launchGated(launch, currentStream()));
    return out;
}

} // namespace kvscope
