#pragma once

#include <cstdint>

namespace kvscope {

// The loops of rmsNorm(), rotate() and swiGlu() on raw pointers. Nothing is included that brings
// inline functions along; linear_kernels.h says why.

struct ElementwiseKernels
{
    /// One row. x, gain, out [width]
    void (*rmsNormRow)(const float* x, const float* gain, float epsilon, float* out,
                       std::int64_t width) = nullptr;
    /// One head in place. head [2 * numPairs]; cos, sin [numPairs]
    void (*rotateAdjacent)(float* head, const float* cos, const float* sin,
                           std::int64_t numPairs) = nullptr;
    void (*rotateHalf)(float* head, const float* cos, const float* sin,
                       std::int64_t numPairs) = nullptr;
    /// out = silu(gate) * up. \param out  may be gate or up
    void (*swiGlu)(const float* gate, const float* up, float* out, std::int64_t count) = nullptr;
};

} // namespace kvscope
