#pragma once

// What the kernels share: numbers of every type as float, sums of a warp, launching.

#include "engine/kernels/cuda/cuda_number.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace kvscope {
namespace {

constexpr int kWarpLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffU;

__device__ inline float2 loadPair(const float* from)
{
    return *reinterpret_cast<const float2*>(from);
}
__device__ inline float2 loadPair(const __nv_bfloat16* from)
{
    return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(from));
}
__device__ inline float2 loadPair(const __half* from)
{
    return __half22float2(*reinterpret_cast<const __half2*>(from));
}

__device__ inline float2 loadPair(const std::int8_t* from)
{
    const char2 pair = *reinterpret_cast<const char2*>(from);
    return make_float2(static_cast<float>(pair.x), static_cast<float>(pair.y));
}
__device__ inline float2 loadPair(const __nv_fp8_e4m3* from)
{
    return static_cast<float2>(*reinterpret_cast<const __nv_fp8x2_e4m3*>(from));
}

__device__ inline float loadNumber(const void* from, CudaNumber type, std::int64_t index)
{
    switch (type) {
    case CudaNumber::BFloat16:
        return __bfloat162float(static_cast<const __nv_bfloat16*>(from)[index]);
    case CudaNumber::Float16:
        return __half2float(static_cast<const __half*>(from)[index]);
    default:
        return static_cast<const float*>(from)[index];
    }
}

__device__ inline void storeNumber(void* to, CudaNumber type, std::int64_t index, float x)
{
    switch (type) {
    case CudaNumber::BFloat16:
        static_cast<__nv_bfloat16*>(to)[index] = __float2bfloat16(x);
        break;
    case CudaNumber::Float16:
        static_cast<__half*>(to)[index] = __float2half(x);
        break;
    default:
        static_cast<float*>(to)[index] = x;
    }
}

__device__ inline float warpMax(float x)
{
    for (int offset = kWarpLanes / 2; offset > 0; offset /= 2)
        x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, offset));
    return x;
}

template <typename Number>
__device__ Number warpSum(Number x)
{
    for (int offset = kWarpLanes / 2; offset > 0; offset /= 2)
        x += __shfl_xor_sync(kAllLanes, x, offset);
    return x;
}

/// The sum over the block's threads, known to all of them. Every thread must call.
template <int Threads, typename Number>
__device__ Number blockSum(Number x)
{
    __shared__ Number ofWarps[Threads / kWarpLanes];
    const Number ofWarp = warpSum(x);
    __syncthreads(); // all have read the sum before
    if (threadIdx.x % kWarpLanes == 0)
        ofWarps[threadIdx.x / kWarpLanes] = ofWarp;
    __syncthreads();
    Number sum = 0;
    for (int warp = 0; warp < Threads / kWarpLanes; ++warp)
        sum += ofWarps[warp];
    return sum;
}

/// Queues a kernel of one parameter.
template <typename Call>
cudaError_t launchKernel(void (*kernel)(Call), dim3 grid, int threads, cudaStream_t stream,
                         const Call& call)
{
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, call);
}

} // namespace
} // namespace kvscope
