#pragma once

namespace kvscope {

/// How numbers that CUDA kernels read and write are stored; Int8 as engine/cache/int8_rows.h has
/// it, of keys and values alone.
enum class CudaNumber { Float32, BFloat16, Float16, Int8 };

} // namespace kvscope
