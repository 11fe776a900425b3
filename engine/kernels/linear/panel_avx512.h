#pragma once

#include "engine/kernels/linear/panel_kernels.h"

namespace kvscope::avx512 {

/// AVX-512 F.
extern const PanelKernels kPanels;

} // namespace kvscope::avx512
