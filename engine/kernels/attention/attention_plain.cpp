// Compiled for the plain processor of the build: SSE2 on x86-64, NEON on AArch64.
#include "engine/kernels/attention/attention_decode_simd.h"
#include "engine/kernels/attention/attention_prefill_simd.h"

namespace kvscope {

constinit const AttentionSimd kAttentionPlain{"plain", kLanes, decodeBlock, toFloat,
                                              floatPrefill()};

} // namespace kvscope
