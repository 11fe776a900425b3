#pragma once

#include <cstdint>

namespace kvscope::avx2 {

/// The sum of `count` words, as fast as memory delivers them.
std::uint64_t sumWords(const std::uint64_t* words, std::int64_t count);

} // namespace kvscope::avx2
