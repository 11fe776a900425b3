#pragma once

#include <cstdint>
#include <string>

namespace kvscope {

/// Bytes that threads find again in the processor's last cache, each last cache serving the
/// processors that share it. As Linux tells (Documentation/ABI/testing/sysfs-devices-system-cpu,
/// "cache"); 32 MiB where it does not.
std::uint64_t lastCacheBytes(int numThreads);

/// The same of what Linux says of one such cache.
/// \param size  "16384K" \param sharedMap  "00000003", a bit for each processor
/// \returns 0 where that cannot be read
std::uint64_t lastCacheBytes(const std::string& size, const std::string& sharedMap, int numThreads);

} // namespace kvscope
