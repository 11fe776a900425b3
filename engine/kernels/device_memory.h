#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace kvscope {

/// Bytes that tensors on a device may still take: of the host as readFreeHostMemory(); of a GPU as
/// CudaKernels::freeBytes, or before ensureCudaBackend() what its driver calls free. Nothing where
/// it cannot be known. Any thread but the GUI's.
std::optional<std::uint64_t> readFreeMemory(c10::Device device);

} // namespace kvscope
