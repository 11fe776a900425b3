#pragma once

// Stands for CUDA's header of that name where kernels are run on the CPU.

#include "tests/support/cuda_on_cpu/cuda_runtime.h"

#include <c10/util/Half.h>

using __half = c10::Half;

struct alignas(4) __half2
{
    __half x, y;
};

inline float2 __half22float2(__half2 pair)
{
    return {static_cast<float>(pair.x), static_cast<float>(pair.y)};
}
inline float __half2float(__half number)
{
    return static_cast<float>(number);
}
inline __half __float2half(float number)
{
    return number;
}
