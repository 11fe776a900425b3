// Compiled with -mavx2 -mfma -mf16c (CMakeLists.txt); runs only where attentionSimd() found those.
#include "engine/kernels/attention/attention_decode_simd.h"
#include "engine/kernels/attention/attention_prefill_simd.h"

namespace kvscope {

constinit const AttentionSimd kAttentionAvx2{"avx2", kLanes, decodeBlock, toFloat, floatPrefill()};

} // namespace kvscope
