#pragma once

#include "engine/kernels/linear/panel_kernels.h"

namespace kvscope::avx512 {

/// InstructionSet::Avx512.
extern const PanelKernels kPanels;

} // namespace kvscope::avx512
