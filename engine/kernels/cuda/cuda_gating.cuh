#pragma once

#include "engine/kernels/cuda/cuda_gating.h"

#include <cuda_runtime.h>

namespace kvscope {
namespace {

/// act(gate) * up, as gatedReference() defines it.
__device__ inline float gatedValue(const CudaGating& gating, float gate, float up)
{
    switch (gating.activation) {
    case CudaActivation::Silu:
        return gate / (1.0F + expf(-gate)) * up;
    case CudaActivation::GeluTanh: {
        const float inner = 0.7978845608F * (gate + 0.044715F * gate * gate * gate);
        return 0.5F * gate * (1.0F + tanhf(inner)) * up;
    }
    default: {
        // Written so that a NaN stays one.
        const float low = gate > gating.limit ? gating.limit : gate;
        const float bounded = up > gating.limit    ? gating.limit
                              : up < -gating.limit ? -gating.limit
                                                   : up;
        return low / (1.0F + expf(-low * gating.alpha)) * (bounded + 1.0F);
    }
    }
}

} // namespace
} // namespace kvscope
