#pragma once

// Stands for CUDA's header of that name where kernels are run on the CPU: enough of the language
// for ours. Blocks run one after the other; the threads of a block are fibers that take turns at
// barriers and shuffles, in the order of their numbers. So a missing barrier shows only where that
// order is not the needed one, and timing not at all; nor does what blocks do to each other, nor
// what is read of shared memory before it is written (it holds what the block before left).
// Indices, sums and what lies past an end do.

#include "tests/support/cuda_on_cpu/block_of_fibers.h"
#include "tests/support/cuda_on_cpu/cuda_runtime_api.h"

#include <cmath>
#include <cstring>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(threads)

struct alignas(8) float2
{
    float x, y;
};

inline float2 make_float2(float x, float y)
{
    return {x, y};
}

struct alignas(16) uint4
{
    unsigned x, y, z, w;
};

struct alignas(2) char2
{
    signed char x, y;
};

struct dim3
{
    unsigned x = 1, y = 1, z = 1;
    dim3(unsigned xs = 1, unsigned ys = 1, unsigned zs = 1)
        : x(xs)
        , y(ys)
        , z(zs)
    {
    }
};

inline dim3 threadIdx(0, 0, 0);
inline dim3 blockIdx(0, 0, 0);
inline dim3 gridDim;

inline void __syncthreads()
{
    kvscope::BlockOfFibers::current().meetBlock();
}

inline void __syncwarp()
{
    kvscope::BlockOfFibers::current().meetWarp();
}

template <typename Value>
Value __shfl_xor_sync(unsigned /*mask*/, Value value, int laneMask)
{
    static_assert(sizeof(Value) <= sizeof(std::uint64_t));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = kvscope::BlockOfFibers::current().exchange(bits, laneMask);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline int atomicAdd(int* to, int number)
{
    const int before = *to;
    *to += number;
    return before;
}

struct cudaLaunchConfig_t
{
    dim3 gridDim;
    dim3 blockDim;
    cudaStream_t stream = nullptr;
};

/// Runs the kernel to its end.
template <typename Parameter, typename Argument>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameter),
                               const Argument& argument)
{
    if (config->blockDim.y != 1 || config->blockDim.z != 1 || config->gridDim.x == 0 ||
        config->gridDim.y == 0 || config->gridDim.z == 0)
        return cudaErrorInvalidValue;
    gridDim = config->gridDim;
    kvscope::BlockOfFibers block(config->blockDim.x,
                                 [](unsigned thread) { threadIdx = dim3(thread, 0, 0); });
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x)
                block.run([&] { kernel(argument); });
    return cudaSuccess;
}
