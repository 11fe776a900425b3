#pragma once

#include "engine/kernels/attention/attention_simd.h"

namespace kvscope {

// Attention of many queries through integers of 16 bits (integer_groups.h): queries and keys in
// groups of 32 of their numbers, values by position, the softmax's weights, times their values'
// scales, in groups of 32 positions. Either side of a product is off by at most 6.2e-5 of its
// group's largest. Outputs of random keys and values are off by 1 to 3e-4 of their size, where
// rounding those to bfloat16 has cost some 1e-3 before.

/// For processors with hasVnni().
extern const PrefillSimd kIntegerPrefillAvx512;
/// For processors with hasAvxVnni().
extern const PrefillSimd kIntegerPrefillAvx2;

} // namespace kvscope
