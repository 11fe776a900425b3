// The tensor side of the CUDA kernels for elements; compiled into libkvscope_cuda.so alone.

#include "engine/kernels/cuda/elementwise_cuda.h"

#include "engine/kernels/cuda/cuda_launches.h"

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
    C10_CUDA_CHECK(launchRmsNorm(rmsNormLaunch(x, gain, epsilon, out), currentStream()));
    return out;
}

void rotateOnCuda(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                  RotaryPairing pairing)
{
    const c10::cuda::CUDAGuard guard(x.device());
    C10_CUDA_CHECK(launchRotate(rotateLaunch(x, cos, sin, pairing), currentStream()));
}

at::Tensor gatedOnCuda(const at::Tensor& gate, const at::Tensor& up, Activation activation)
{
    const c10::cuda::CUDAGuard guard(gate.device());
    const at::Tensor out = at::empty(gate.sizes(), gate.options());
    C10_CUDA_CHECK(launchGated(gatedLaunch(gate, up, activation, out), currentStream()));
    return out;
}

} // namespace kvscope
