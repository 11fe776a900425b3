// Compiled with -mavx512f and others (CMakeLists.txt); runs only where attentionSimd() found those.
#include "engine/kernels/attention/attention_decode_simd.h"
#include "engine/kernels/attention/attention_prefill_simd.h"

namespace kvscope {

constinit const AttentionSimd kAttentionAvx512{"avx512", kLanes, decodeBlock, toFloat,
                                               floatPrefill()};

} // namespace kvscope
