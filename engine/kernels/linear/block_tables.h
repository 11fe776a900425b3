#pragma once

#include <cstdint>

namespace kvscope {

// Read by files compiled for newer processors too, so constants only (see linear_kernels.h).

/// What the nibbles of IQ4_NL and IQ4_XS stand for. Source: ggml, kvalues_iq4nl.
constexpr std::int8_t kNonLinear4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};

/// Twice what the nibbles of MXFP4 stand for, E2M1 floats (OCP Microscaling Formats, 5.3.3); the
/// scale is halved for it. Source: ggml, kvalues_mxfp4.
constexpr std::int8_t kTwiceFloat4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

} // namespace kvscope
