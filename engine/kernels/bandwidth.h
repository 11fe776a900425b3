#pragma once

#include <cstdint>

namespace kvscope {

/// Memory read bandwidth of this machine with the engine's own threads, bytes per second: the best
/// of `repeats` vectorised reads of one buffer of `bytes`.
double measureReadBandwidth(std::uint64_t bytes = std::uint64_t{1} << 30, int repeats = 5);

} // namespace kvscope
