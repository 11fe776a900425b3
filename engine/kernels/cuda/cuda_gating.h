#pragma once

namespace kvscope {

/// Activations that CUDA kernels compute.
enum class CudaActivation { Silu, GeluTanh, ClampedSilu };

/// act(gate) * up.
struct CudaGating
{
    CudaActivation activation;
    float alpha; ///< of ClampedSilu, as in model_config.h
    float limit;
};

} // namespace kvscope
