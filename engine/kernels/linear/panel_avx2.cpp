#include "engine/kernels/linear/panel_avx2.h"

#include "engine/kernels/linear/panel_simd.h"

namespace kvscope::avx2 {

constinit const PanelKernels kPanels = panelKernels();

} // namespace kvscope::avx2
