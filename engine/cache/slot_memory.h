#pragma once

#include "engine/cache/buffer_shape.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kvscope {

/// An array [B, Hkv, capacity, D] (int8 and fp8: as scaled_rows.h has it), its slots not
/// initialised. Memory that is asked for but not there ends a process long after the asking (the
/// kernel promises more than it has), so on the CPU a large array is compared with what is free
/// first. \throws MemoryError with both numbers
at::Tensor allocateSlots(const BufferShape& shape, std::int64_t capacity,
                         const at::TensorOptions& options);

} // namespace kvscope
