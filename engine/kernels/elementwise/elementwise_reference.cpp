#include "engine/kernels/elementwise/elementwise.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/stack.h>

namespace kvscope {

at::Tensor rmsNormReference(const at::Tensor& x, const at::Tensor& gain, double epsilon)
{
    const at::Tensor wide = x.to(at::kFloat);
    const at::Tensor meanSquare = wide.square().mean(-1, /*keepdim=*/true);
    return (wide * at::rsqrt(meanSquare + epsilon) * gain).to(x.scalar_type());
}

at::Tensor rotateReference(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                           RotaryPairing pairing)
{
    const std::int64_t numPairs = x.size(-1) / 2;
    const bool isAdjacent = pairing == RotaryPairing::Adjacent;
    const at::Tensor wide = x.to(at::kFloat);
    const at::Tensor pairs = isAdjacent ? wide.unflatten(-1, {numPairs, 2})
                                        : wide.unflatten(-1, {2, numPairs}).transpose(-1, -2);
    const at::Tensor a = pairs.select(-1, 0);
    const at::Tensor b = pairs.select(-1, 1);
    const at::Tensor c = cos.unsqueeze(1); // [T, 1, D/2] against [B, T, Heads, D/2]
    const at::Tensor s = sin.unsqueeze(1);
    const at::Tensor first = a * c - b * s;
    const at::Tensor second = a * s + b * c;
    const at::Tensor rotated =
        isAdjacent ? at::stack({first, second}, -1).flatten(-2) : at::cat({first, second}, -1);
    return rotated.to(x.scalar_type());
}

at::Tensor layerNormReference(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias,
                              double epsilon)
{
    const at::Tensor wide = x.to(at::kDouble);
    const at::Tensor centred = wide - wide.mean(-1, /*keepdim=*/true);
    const at::Tensor variance = centred.square().mean(-1, /*keepdim=*/true);
    return (centred * at::rsqrt(variance + epsilon) * gain + bias).to(x.scalar_type());
}

at::Tensor gatedReference(const at::Tensor& gate, const at::Tensor& up, Activation activation)
{
    // float64 inputs are computed in float64, which tests use to measure rounding.
    const auto dtype = gate.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor wideGate = gate.to(dtype);
    const at::Tensor wideUp = up.to(dtype);
    if (activation != Activation::ClampedSilu)
        return (activated(wideGate, activation) * wideUp).to(gate.scalar_type());
    // Source: openai/gpt-oss, torch/model.py, swiglu().
    const at::Tensor clampedGate = at::clamp_max(wideGate, kClampedSiluLimit);
    const at::Tensor clampedUp = at::clamp(wideUp, -kClampedSiluLimit, kClampedSiluLimit);
    return (clampedGate * at::sigmoid(clampedGate * kClampedSiluAlpha) * (clampedUp + 1.0))
        .to(gate.scalar_type());
}

at::Tensor activated(const at::Tensor& x, Activation activation)
{
    switch (activation) {
    case Activation::Silu:
        return at::silu(x);
    case Activation::Gelu:
        return at::gelu(x);
    case Activation::GeluTanh:
        return at::gelu(x, "tanh");
    case Activation::ClampedSilu:
        break;
    }
    TORCH_CHECK(false, "activated: a clamped SiLU needs a gate");
}

void softCap(at::Tensor& x, double cap)
{
    x.div_(cap).tanh_().mul_(cap);
}

} // namespace kvscope
