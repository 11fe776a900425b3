#pragma once

#include "engine/kernels/attention/attention_simd.h"
#include "engine/kernels/linear/linear_kernels.h"
#include "engine/kernels/linear/panel_kernels.h"

// The kernels for AVX-512 and AMX as they are compiled for AVX2 (immintrin.h beside this file), to
// be called where bestInstructionSet() is AVX2 or better. Their own names are renamed by
// CMakeLists.txt, since the engine has them too.

namespace kvscope {

extern const AttentionSimd kAttentionAvx512OnAvx2;
extern const PrefillSimd kIntegerPrefillAvx512OnAvx2;

namespace avx512_on_avx2 {

extern const FormatKernels kF32, kF16, kBF16;
extern const FormatKernels kQ80, kQ40, kQ41, kQ50, kQ51, kIq4Nl, kMxfp4;
extern const FormatKernels kQ2K, kQ3K, kQ4K, kQ5K, kQ6K, kQ8K, kIq4Xs;
extern const PanelKernels kPanels, kIntegerPanels;

} // namespace avx512_on_avx2

// For AVX-VNNI, compiled likewise (tests/support/avx_vnni_on_avx2).
extern const PrefillSimd kIntegerPrefillAvx2OnAvx2;

namespace avx_vnni_on_avx2 {

extern const PanelKernels kIntegerPanels;

} // namespace avx_vnni_on_avx2

namespace amx_on_avx2 {

extern const PanelKernels kPanels;
extern const PanelKernels kPanelsOfBFloat16;

} // namespace amx_on_avx2

} // namespace kvscope
