#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace kvscope {

/// Bytes that tensors on a device may still take: of the host as readFreeHostMemory(); of a GPU
/// what its driver calls free and what LibTorch has taken from it and holds no tensor. Nothing
/// where it cannot be known. Any thread but the GUI's.
std::optional<std::uint64_t> readFreeMemory(c10::Device device);

} // namespace kvscope
