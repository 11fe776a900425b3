#pragma once

#include "engine/kernels/linear/panel_kernels.h"

namespace kvscope {

// Products through integers of 16 bits, whose pairs VPDPWSSD multiplies and adds at twice the rate
// of float32. Of each 32 columns a row of x is rounded to multiples of 1 / 32767 of its largest
// magnitude there, as QuantizeRow says, and a row of W to multiples of 1 / 2032: Q4_0, Q5_0 and
// Q8_0 as ggml rounds them lose nothing so (2032 is a multiple of 8, 16 and 127), others at most
// 2.5e-4 of the largest, a fourth of what bfloat16 loses. A sum of 32 such products fits 32 bits;
// those sums, times both scales, are added in float32.

namespace avx512 {

/// For processors with hasVnni().
extern const PanelKernels kIntegerPanels;

} // namespace avx512

namespace avx2 {

/// For processors with hasAvxVnni().
extern const PanelKernels kIntegerPanels;

} // namespace avx2

} // namespace kvscope
