#pragma once

namespace kvscope {

/// How numbers that CUDA kernels read and write are stored; Int8 and Fp8 as
/// engine/cache/scaled_rows.h has them, of keys and values alone.
enum class CudaNumber { Float32, BFloat16, Float16, Int8, Fp8 };

} // namespace kvscope
