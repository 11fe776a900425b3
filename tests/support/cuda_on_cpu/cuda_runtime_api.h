#pragma once

// Stands for CUDA's header of that name where kernels are run on the CPU.

using cudaStream_t = void*;

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
