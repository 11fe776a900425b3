#pragma once

#include "engine/kernels/linear/panel_kernels.h"

namespace kvscope::amx {

// Products through AMX's tiles of bfloat16, for processors with hasTiles(). A float32 is taken
// apart into two bfloat16, high + low, together 16 bits; of the four products of two such numbers
// the one of the low parts, 2^-16 of the whole, is left out. Sums are float32. What overflows
// bfloat16 becomes NaN, what is below its smallest normal number 0.

/// Any weights.
extern const PanelKernels kPanels;
/// Weights that have no low part, being bfloat16 themselves.
extern const PanelKernels kPanelsOfBFloat16;

} // namespace kvscope::amx
