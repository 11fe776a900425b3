#include "engine/kernels/attention/attention_integers.h"
#include "engine/kernels/attention/attention_integers_simd.h"

namespace kvscope {

constinit const PrefillSimd kIntegerPrefillAvx2 = integerLoops();

} // namespace kvscope
