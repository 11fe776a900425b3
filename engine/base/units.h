#pragma once

#include <cstdint>
#include <string>

namespace kvscope {

/// Bytes of memory with three significant digits: "812 B", "12.1 MiB", "3.35 GiB" (powers of 1024).
std::string formatBytes(std::uint64_t bytes);

/// A size on disk in powers of 1000: "98.4 MB".
std::string formatFileSize(std::uint64_t bytes);

/// An exact count, grouped by thousands: "1,943".
std::string formatCount(std::int64_t count);

/// A duration: "3.1 ms", "19.6 s", "4 min 12 s", "1 h 30 min".
std::string formatSeconds(double seconds);

} // namespace kvscope
