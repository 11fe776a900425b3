#pragma once

#include "engine/kernels/linear/panel_kernels.h"

namespace kvscope {

// Products through integers of 16 bits (integer_groups.h): of each 32 columns a row of x is rounded
// to multiples of 1 / 8256 of its largest magnitude there, a row of W to multiples of 1 / 8128,
// either by at most 6.2e-5 of the largest, where bfloat16 loses up to 2e-3 of each number. A sum of
// 32 such products fits 32 bits; those sums, times both scales, are added in float32.

namespace avx512 {

/// For processors with hasVnni().
extern const PanelKernels kIntegerPanels;

} // namespace avx512

namespace avx2 {

/// For processors with hasAvxVnni().
extern const PanelKernels kIntegerPanels;

} // namespace avx2

} // namespace kvscope
