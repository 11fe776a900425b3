#include "engine/kernels/elementwise.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/rsqrt.h>
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

at::Tensor swiGluReference(const at::Tensor& gate, const at::Tensor& up)
{
    return (at::silu(gate.to(at::kFloat)) * up.to(at::kFloat)).to(gate.scalar_type());
}

} // namespace kvscope
