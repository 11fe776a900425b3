#include "engine/model/feed_forward.h"

#include "engine/kernels/elementwise/elementwise.h"
#include "engine/kernels/linear/linear.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros_like.h>

#include <vector>

namespace kvscope {
namespace {

/// Visits in the order of their experts, of one expert in the order of the tokens.
struct Visits
{
    at::Tensor tokens;                 ///< [visits] int64
    at::Tensor weights;                ///< [visits, 1]
    std::vector<std::int64_t> offsets; ///< by expert, where its visits begin; then their number
};

/// All on the device but for the offsets: the one thing of a layer that the host waits for.
Visits visitsByExpert(const Routing& routing, std::size_t numExperts, at::ScalarType type)
{
    const auto [experts, order] = at::sort(routing.experts.flatten(), true, 0, false);
    const at::Tensor numbers =
        at::arange(static_cast<std::int64_t>(numExperts) + 1, experts.options());
    const at::Tensor offsets = at::searchsorted(experts, numbers).cpu();
    const auto* first = offsets.const_data_ptr<std::int64_t>();
    return {order.div(routing.experts.size(1), "floor"),
            routing.weights.flatten().index_select(0, order).unsqueeze(1).to(type),
            {first, first + offsets.numel()}};
}

} // namespace

at::Tensor product(const at::Tensor& x, const WeightMatrix& weight, const ProductSettings& settings)
{
    return settings.path == KernelPath::Reference ? linearReference(x, weight)
                                                  : linear(x, weight, settings.precision);
}

at::Tensor productFloat32(const at::Tensor& x, const WeightMatrix& weight,
                          const ProductSettings& settings)
{
    return settings.path == KernelPath::Reference ? linearFloat32Reference(x, weight)
                                                  : linearFloat32(x, weight, settings.precision);
}

at::Tensor product(const at::Tensor& x, const LinearWeights& linear,
                   const ProductSettings& settings)
{
    at::Tensor y = product(x, linear.weight, settings);
    return linear.bias.defined() ? y.add_(linear.bias) : y;
}

std::vector<at::Tensor> products(const at::Tensor& x,
                                 std::initializer_list<const LinearWeights*> linears,
                                 const ProductSettings& settings)
{
    std::vector<at::Tensor> results;
    if (settings.path == KernelPath::Reference) {
        for (const LinearWeights* linear : linears)
            results.push_back(product(x, *linear, settings));
        return results;
    }
    std::vector<const WeightMatrix*> weights;
    for (const LinearWeights* linear : linears)
        weights.push_back(&linear->weight);
    results = linear(x, weights, settings.precision);
    std::size_t i = 0;
    for (const LinearWeights* linear : linears) {
        if (linear->bias.defined())
            results[i].add_(linear->bias);
        ++i;
    }
    return results;
}

at::Tensor feedForward(const at::Tensor& x, const FeedForwardWeights& weights,
                       Activation activation, const ProductSettings& settings)
{
    if (!weights.gate)
        return product(activated(product(x, weights.up, settings), activation), weights.down,
                       settings);
    const auto parts = products(x, {&weights.gate, &weights.up}, settings);
    const at::Tensor &gate = parts[0], &up = parts[1];
    const at::Tensor hidden = settings.path == KernelPath::Reference
                                  ? gatedReference(gate, up, activation)
                                  : gated(gate, up, activation);
    return product(hidden, weights.down, settings);
}

Routing route(const at::Tensor& x, const MoEWeights& moe, const MoEConfig& config,
              const ProductSettings& settings)
{
    const at::Tensor logits = productFloat32(x, moe.router.weight, settings);
    if (moe.router.bias.defined())
        logits.add_(moe.router.bias);
    const auto [probabilities, experts] =
        at::topk(at::softmax(logits, -1, at::kFloat), config.numActive);
    const at::Tensor weights =
        config.normalisesWeights ? probabilities.div(probabilities.sum(-1, true)) : probabilities;
    return {experts, weights};
}

at::Tensor mixtureOfExperts(const at::Tensor& x, const MoEWeights& moe, const Routing& routing,
                            Activation activation, const ProductSettings& settings)
{
    at::Tensor sum = at::zeros_like(x);
    const Visits visits = visitsByExpert(routing, moe.experts.size(), x.scalar_type());
    for (std::size_t e = 0; e < moe.experts.size(); ++e) {
        const std::int64_t first = visits.offsets[e];
        const std::int64_t count = visits.offsets[e + 1] - first;
        if (count == 0)
            continue;
        const at::Tensor weights = visits.weights.narrow(0, first, count);
        if (count == x.size(0)) { // one token, or all of them: nothing to gather
            sum.add_(feedForward(x, moe.experts[e], activation, settings).mul_(weights));
            continue;
        }
        const at::Tensor rows = visits.tokens.narrow(0, first, count);
        const at::Tensor result =
            feedForward(x.index_select(0, rows), moe.experts[e], activation, settings);
        sum.index_add_(0, rows, result.mul_(weights));
    }
    for (const FeedForwardWeights& shared : moe.shared) {
        at::Tensor result = feedForward(x, shared, activation, settings);
        if (moe.sharedGate.rows > 0)
            result.mul_(at::sigmoid(product(x, moe.sharedGate, settings)));
        sum.add_(result);
    }
    return sum;
}

} // namespace kvscope
