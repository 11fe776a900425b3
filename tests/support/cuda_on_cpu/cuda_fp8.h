#pragma once

// Stands for CUDA's header of that name where kernels are run on the CPU.

#include "tests/support/cuda_on_cpu/cuda_runtime.h"

#include <c10/util/Float8_e4m3fn.h>

using __nv_fp8_e4m3 = c10::Float8_e4m3fn;

struct alignas(2) __nv_fp8x2_e4m3
{
    __nv_fp8_e4m3 x, y;

    explicit operator float2() const { return {static_cast<float>(x), static_cast<float>(y)}; }
};
