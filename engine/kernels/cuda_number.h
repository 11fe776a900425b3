#pragma once

namespace kvscope {

/// How numbers that CUDA kernels read and write are stored.
enum class CudaNumber { Float32, BFloat16, Float16 };

} // namespace kvscope
