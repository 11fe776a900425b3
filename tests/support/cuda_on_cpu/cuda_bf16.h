#pragma once

// Stands for CUDA's header of that name where kernels are run on the CPU.

#include "tests/support/cuda_on_cpu/cuda_runtime.h"

#include <c10/util/BFloat16.h>

using __nv_bfloat16 = c10::BFloat16;

struct alignas(4) __nv_bfloat162
{
    __nv_bfloat16 x, y;
};

inline float2 __bfloat1622float2(__nv_bfloat162 pair)
{
    return {static_cast<float>(pair.x), static_cast<float>(pair.y)};
}
inline float __bfloat162float(__nv_bfloat16 number)
{
    return static_cast<float>(number);
}
inline __nv_bfloat16 __float2bfloat16(float number)
{
    return number;
}
