#include "engine/train/expert_balance.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

namespace kvscope {

at::Tensor expertBalance(const at::Tensor& probabilities, const at::Tensor& visited,
                         std::int64_t numTexts)
{
    const std::int64_t numExperts = probabilities.size(1);
    const at::Tensor visits = visited.reshape({numTexts, -1});
    const at::Tensor share = at::full(visits.sizes(), 1.0 / static_cast<double>(visits.size(1)),
                                      probabilities.options().requires_grad(false));
    const at::Tensor load =
        at::zeros({numTexts, numExperts}, share.options()).scatter_add_(1, visits, share);
    const at::Tensor mean = probabilities.view({numTexts, -1, numExperts}).mean(1);
    return (load * mean).sum() * (static_cast<double>(numExperts) / static_cast<double>(numTexts));
}

} // namespace kvscope
