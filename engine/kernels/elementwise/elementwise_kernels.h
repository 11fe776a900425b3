#pragma once

#include <cstdint>

namespace kvscope {

// The loops of rmsNorm(), rotate() and gated() on raw pointers. Nothing is included that brings
// inline functions along; linear_kernels.h says why.

/// out = act(gate) * up. \param out  may be gate or up
using GatedRow = void (*)(const float* gate, const float* up, float* out, std::int64_t count);

struct ElementwiseKernels
{
    /// One row. x, gain, out [width]; out may be x
    void (*rmsNormRow)(const float* x, const float* gain, float epsilon, float* out,
                       std::int64_t width) = nullptr;
    /// One head in place. head [2 * numPairs]; cos, sin [numPairs]
    void (*rotateAdjacent)(float* head, const float* cos, const float* sin,
                           std::int64_t numPairs) = nullptr;
    void (*rotateHalf)(float* head, const float* cos, const float* sin,
                       std::int64_t numPairs) = nullptr;
    GatedRow gatedSilu = nullptr;
    GatedRow gatedGeluTanh = nullptr;
    GatedRow gatedClampedSilu = nullptr;
};

inline constexpr float kGeluTanhFactor = 0.7978845608028654F; ///< sqrt(2 / pi)
inline constexpr float kGeluTanhCubic = 0.044715F;
inline constexpr float kGateLimit = 7.0F;   ///< kClampedSiluLimit of model_config.h
inline constexpr float kGateAlpha = 1.702F; ///< kClampedSiluAlpha

} // namespace kvscope
