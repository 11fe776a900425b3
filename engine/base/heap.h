#pragma once

#include <cstdint>

namespace kvscope {

/// Freed memory that the C library keeps at the end of its heap, in bytes, once keepFreedMemory()
/// was called.
inline constexpr std::uint64_t kKeptFreedBytes = std::uint64_t{16} << 20;

/// Lets the C library keep kKeptFreedBytes of freed memory and map arrays of 4 MiB and more by
/// themselves, for the whole process. Call once, before threads are started.
///
/// Left to itself glibc keeps twice the largest array that was freed, less than one layer of a
/// prefill takes: each layer then gives its memory back, asks for it anew and has every page of it
/// cleared. And arrays of up to 32 MiB come to lie between others, where memory once used is not
/// given back. What both cost is in docs/performance.md. Does nothing with another C library.
void keepFreedMemory();

} // namespace kvscope
