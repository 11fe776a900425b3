#include "engine/kernels/linear/panel_integers.h"
#include "engine/kernels/linear/panel_integers_simd.h"

namespace kvscope::avx512 {

constinit const PanelKernels kIntegerPanels = integerPanelKernels();

} // namespace kvscope::avx512
