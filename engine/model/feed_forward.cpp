#include "engine/model/feed_forward.h"

#include "engine/kernels/elementwise.h"
#include "engine/kernels/linear.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros_like.h>

#include <vector>

namespace kvscope {
namespace {

/// The tokens that visit one expert and their weights there.
struct Visitors
{
    std::vector<std::int64_t> rows;
    std::vector<float> weights;
};

std::vector<Visitors> visitorsByExpert(const Routing& routing, std::size_t numExperts)
{
    std::vector<Visitors> visitors(numExperts);
    const auto* experts = routing.experts.const_data_ptr<std::int64_t>();
    const auto* weights = routing.weights.const_data_ptr<float>();
    const std::int64_t topK = routing.experts.size(1);
    for (std::int64_t i = 0; i < routing.experts.numel(); ++i) {
        Visitors& expert = visitors[static_cast<std::size_t>(experts[i])];
        expert.rows.push_back(i / topK);
        expert.weights.push_back(weights[i]);
    }
    return visitors;
}

} // namespace

at::Tensor product(const at::Tensor& x, const WeightMatrix& weight, const ProductSettings& settings)
{
    return settings.path == KernelPath::Reference ? linearReference(x, weight)
                                                  : linear(x, weight, settings.precision);
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
    const at::Tensor logits = product(x, moe.router, settings);
    const auto [probabilities, experts] =
        at::topk(at::softmax(logits, -1, at::kFloat), config.numActive);
    const at::Tensor weights =
        config.normalisesWeights ? probabilities.div(probabilities.sum(-1, true)) : probabilities;
    return {experts.cpu().contiguous(), weights.cpu().contiguous()};
}

at::Tensor mixtureOfExperts(const at::Tensor& x, const MoEWeights& moe, const Routing& routing,
                            Activation activation, const ProductSettings& settings)
{
    at::Tensor sum = at::zeros_like(x);
    std::vector<Visitors> visitors = visitorsByExpert(routing, moe.experts.size());
    for (std::size_t e = 0; e < visitors.size(); ++e) {
        Visitors& group = visitors[e];
        if (group.rows.empty())
            continue;
        const auto count = static_cast<std::int64_t>(group.rows.size());
        if (count == x.size(0)) { // one token, or all of them: nothing to gather
            const at::Tensor weights =
                at::from_blob(group.weights.data(), {count, 1}, at::kFloat).to(x.options());
            sum.add_(feedForward(x, moe.experts[e], activation, settings).mul_(weights));
            continue;
        }
        const at::Tensor rows = at::from_blob(group.rows.data(), {count}, at::kLong).to(x.device());
        const at::Tensor weights =
            at::from_blob(group.weights.data(), {count, 1}, at::kFloat).to(x.options());
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
