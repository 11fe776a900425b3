#pragma once

#include "engine/kernels/linear/panel_kernels.h"

namespace kvscope::avx2 {

/// AVX2 and FMA.
extern const PanelKernels kPanels;

} // namespace kvscope::avx2
