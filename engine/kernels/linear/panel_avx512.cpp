#include "engine/kernels/linear/panel_avx512.h"

#include "engine/kernels/linear/panel_simd.h"

namespace kvscope::avx512 {

constinit const PanelKernels kPanels = panelKernels();

} // namespace kvscope::avx512
