// Compiled into libkvscope_cuda.so alone.

#include "engine/kernels/cuda/decode_attention.h"
#include "engine/kernels/cuda/step_kernels.h"

namespace kvscope {

namespace {

struct Launcher
{
    cudaStream_t stream;

    cudaError_t operator()(const EmbedLaunch& launch) const { return launchEmbed(launch, stream); }
    cudaError_t operator()(const StepProductLaunch& launch) const
    {
        return launchStepProduct(launch, stream);
    }
    cudaError_t operator()(const StoreHeadsLaunch& launch) const
    {
        return launchStoreHeads(launch, stream);
    }
    cudaError_t operator()(const DecodeAttentionLaunch& launch) const
    {
        return launchDecodeAttention(launch, stream);
    }
    cudaError_t operator()(const ChooseExpertsLaunch& launch) const
    {
        return launchChooseExperts(launch, stream);
    }
    cudaError_t operator()(const AddPartsLaunch& launch) const
    {
        return launchAddParts(launch, stream);
    }
};

} // namespace

cudaError_t launchStep(const StepLaunch* launches, std::size_t count, cudaStream_t stream)
{
    for (const StepLaunch* launch = launches; launch != launches + count; ++launch)
        if (const cudaError_t error = std::visit(Launcher{stream}, *launch); error != cudaSuccess)
            return error;
    return cudaSuccess;
}

} // namespace kvscope
