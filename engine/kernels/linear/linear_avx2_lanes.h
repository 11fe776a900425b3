#pragma once

#include "engine/kernels/simd_lanes.h"

#include <cstddef>

// Shared by the AVX2 and AVX-512 sources alone. `static`: each file keeps its own copy, see
// linear_kernels.h. Loops over a tile are unrolled by name (GCC unroll): at -O2 they would stay
// loops, with their sums in memory instead of registers, and run at a third of the speed.

namespace kvscope::avx2 {

// How far ahead of the rows at work the next ones are asked for. The hardware does not follow
// several short rows at once: without this, Q8_0 out of cache ran at 3.4 GB/s a thread instead of
// 10 (Zen 3, of 12 GB/s for a plain read; 1 KiB gave 9.3, 2 KiB 9.4, 8 KiB 9.1, 16 KiB 7.4). On
// Zen 5, whose memory is faster, 8 KiB read rows of 768 bfloat16 at 64 GB/s where 4 KiB gave 60 and
// 2 KiB 50 (two threads, of 76; 16 KiB thrashed the first cache where rows are short).
#if defined(__AVX512F__)
constexpr std::ptrdiff_t kPrefetchDistance = 8192;
#else
constexpr std::ptrdiff_t kPrefetchDistance = 4096;
#endif

// Inlined by name: g++ 12 takes a call of what does nothing but prefetch for one that does nothing.
template <int Bytes, int Locality>
[[gnu::always_inline]] static inline void prefetchAs(const std::byte* at)
{
#pragma GCC unroll 8
    for (int line = 0; line < Bytes; line += 64)
        __builtin_prefetch(at + kPrefetchDistance + line, 0, Locality);
}

/// Asks for the lines of `Bytes` bytes that lie kPrefetchDistance behind `at`. It may point beyond
/// the weight: a prefetch never faults. What is streamed goes to the first cache alone, so that no
/// time is spent on moving it to the others when it leaves (SmolLM2 Q4_1, a step of two Zen 2
/// cores: 5.1 ms without, 4.0 to 4.7 with); weights that stay in the last cache would leave it
/// (demo model: 0.18 ms instead of 0.14).
template <int Bytes>
[[gnu::always_inline]] static inline void prefetch(const std::byte* at, bool isStreamed)
{
    if (isStreamed)
        prefetchAs<Bytes, 0>(at); // PREFETCHNTA
    else
        prefetchAs<Bytes, 3>(at); // PREFETCHT0
}

} // namespace kvscope::avx2
