#pragma once

#include <cstdint>
#include <filesystem>

namespace kvscope {

/// Bytes that threads, one a core, find again in the processor's last caches, of which each serves
/// the cores that share it. As Linux tells (Documentation/ABI/testing/sysfs-devices-system-cpu);
/// 32 MiB where it does not. \param cpu  the folder of one processor there
std::uint64_t lastCacheBytes(int numThreads,
                             const std::filesystem::path& cpu = "/sys/devices/system/cpu/cpu0");

} // namespace kvscope
