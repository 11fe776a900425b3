#include "engine/kernels/elementwise/elementwise.h"

#include "engine/kernels/cuda/cuda_backend.h"
#include "engine/kernels/elementwise/elementwise_paths.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>

#include <algorithm>

#ifdef KVSCOPE_X86
#include "engine/kernels/elementwise/elementwise_avx2.h"
#endif

namespace kvscope {

namespace {

// Elements that are worth another thread, some 10 us of work.
constexpr std::int64_t kElementsPerThread = 32768;

std::int64_t rowGrain(std::int64_t elementsPerRow)
{
    return std::max<std::int64_t>(1,
                                  kElementsPerThread / std::max<std::int64_t>(1, elementsPerRow));
}

bool isPlainFloat(const at::Tensor& x)
{
    return x.device().is_cpu() && x.scalar_type() == at::kFloat;
}

/// Those that a tensor's numbers can be given to; null where it is not on a GPU.
const CudaKernels* cudaKernelsFor(const at::Tensor& x)
{
    const bool isRead = x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16 ||
                        x.scalar_type() == at::kHalf;
    return x.is_cuda() && isRead ? cudaKernels() : nullptr;
}

void checkTables(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin)
{
    TORCH_CHECK(x.dim() == 4 && x.size(3) % 2 == 0 && x.stride(3) == 1, "rotate: x is ", x.sizes(),
                ", [B, T, Heads, even D] with unit stride is needed");
    for (const auto& table : {cos, sin}) {
        TORCH_CHECK(table.dim() == 2 && table.size(0) == x.size(1) &&
                        table.size(1) == x.size(3) / 2 && table.scalar_type() == at::kFloat &&
                        table.is_contiguous() && table.device() == x.device(),
                    "rotate: cos and sin must be contiguous float32 [", x.size(1), ", ",
                    x.size(3) / 2, "] beside x");
    }
}

} // namespace

const ElementwiseKernels& elementwiseKernels(InstructionSet instructions)
{
#ifdef KVSCOPE_X86
    if (instructions == InstructionSet::Avx2 || instructions == InstructionSet::Avx512)
        return avx2ElementwiseKernels();
#endif
    TORCH_CHECK(instructions == InstructionSet::Portable,
                "elementwise: instruction set not compiled in");
    return portableElementwiseKernels();
}

at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& gain, double epsilon)
{
    TORCH_CHECK(x.dim() == 2 && x.is_contiguous(), "rmsNorm: x must be contiguous [N, E]");
    TORCH_CHECK(gain.dim() == 1 && gain.size(0) == x.size(1) && gain.scalar_type() == at::kFloat &&
                    gain.is_contiguous() && gain.device() == x.device(),
                "rmsNorm: gain must be contiguous float32 [", x.size(1), "] beside x");
    if (const CudaKernels* kernels = cudaKernelsFor(x))
        return kernels->rmsNorm(x, gain, epsilon);
    if (!isPlainFloat(x))
        return rmsNormReference(x, gain, epsilon);
    const std::int64_t width = x.size(1);
    at::Tensor out = at::empty(x.sizes(), x.options());
    const auto* in = x.const_data_ptr<float>();
    const auto* scale = gain.const_data_ptr<float>();
    auto* result = out.mutable_data_ptr<float>();
    const auto row = elementwiseKernels(bestInstructionSet()).rmsNormRow;
    at::parallel_for(0, x.size(0), rowGrain(width), [&](std::int64_t first, std::int64_t end) {
        for (std::int64_t n = first; n < end; ++n)
            row(in + n * width, scale, static_cast<float>(epsilon), result + n * width, width);
    });
    return out;
}

void rotate(at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, RotaryPairing pairing)
{
    checkTables(x, cos, sin);
    if (const CudaKernels* kernels = cudaKernelsFor(x))
        return kernels->rotate(x, cos, sin, pairing);
    if (!isPlainFloat(x)) {
        x.copy_(rotateReference(x, cos, sin, pairing));
        return;
    }
    const auto& kernels = elementwiseKernels(bestInstructionSet());
    const auto rotateHead =
        pairing == RotaryPairing::Adjacent ? kernels.rotateAdjacent : kernels.rotateHalf;
    const std::int64_t numTokens = x.size(1);
    const std::int64_t numPairs = x.size(3) / 2;
    auto* data = x.mutable_data_ptr<float>();
    const auto* cosData = cos.const_data_ptr<float>();
    const auto* sinData = sin.const_data_ptr<float>();
    const std::int64_t grain = rowGrain(x.size(2) * x.size(3));
    at::parallel_for(0, x.size(0) * numTokens, grain, [&](std::int64_t first, std::int64_t end) {
        for (std::int64_t row = first; row < end; ++row) {
            const std::int64_t token = row % numTokens;
            float* heads = data + row / numTokens * x.stride(0) + token * x.stride(1);
            for (std::int64_t head = 0; head < x.size(2); ++head)
                rotateHead(heads + head * x.stride(2), cosData + token * numPairs,
                           sinData + token * numPairs, numPairs);
        }
    });
}

at::Tensor layerNorm(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias,
                     double epsilon)
{
    TORCH_CHECK(x.dim() == 2 && gain.dim() == 1 && gain.size(0) == x.size(1) &&
                    gain.scalar_type() == at::kFloat && bias.sizes() == gain.sizes(),
                "layerNorm: gain and bias must be float32 [", x.size(1), "]");
    return at::layer_norm(x.to(at::kFloat), {x.size(1)}, gain, bias, epsilon).to(x.scalar_type());
}

GatedRow gatedRow(Activation activation)
{
    const ElementwiseKernels& kernels = elementwiseKernels(bestInstructionSet());
    switch (activation) {
    case Activation::Silu:
        return kernels.gatedSilu;
    case Activation::GeluTanh:
        return kernels.gatedGeluTanh;
    case Activation::ClampedSilu:
        return kernels.gatedClampedSilu;
    case Activation::Gelu:
        break;
    }
    return nullptr;
}

at::Tensor gated(const at::Tensor& gate, const at::Tensor& up, Activation activation)
{
    TORCH_CHECK(gate.dim() == 2 && gate.sizes() == up.sizes() &&
                    gate.scalar_type() == up.scalar_type() && gate.device() == up.device(),
                "gated: gate and up must be [N, F] of one type on one device");
    TORCH_CHECK(gate.size(1) == 0 || (gate.stride(1) == 1 && up.stride(1) == 1),
                "gated: the last dimension must be contiguous");
    if (const CudaKernels* kernels = cudaKernelsFor(gate);
        kernels != nullptr && activation != Activation::Gelu)
        return kernels->gated(gate, up, activation);
    const GatedRow multiply = isPlainFloat(gate) ? gatedRow(activation) : nullptr;
    if (multiply == nullptr)
        return gatedReference(gate, up, activation);
    const std::int64_t width = gate.size(1);
    at::Tensor out = at::empty(gate.sizes(), gate.options());
    const auto* gateData = gate.const_data_ptr<float>();
    const auto* upData = up.const_data_ptr<float>();
    auto* result = out.mutable_data_ptr<float>();
    at::parallel_for(0, gate.size(0), rowGrain(width), [&](std::int64_t first, std::int64_t end) {
        for (std::int64_t n = first; n < end; ++n)
            multiply(gateData + n * gate.stride(0), upData + n * up.stride(0), result + n * width,
                     width);
    });
    return out;
}

} // namespace kvscope
