#include "engine/generate/sampler.h"

#include "engine/base/errors.h"
#include "engine/kernels/cuda/cuda_backend.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvscope {
namespace {

/// How many of the descending probabilities have a preceding mass <= topP. The mass is cumsum - p
/// in float32, the reference's own rounding.
std::int64_t keptCount(const at::Tensor& descending, double topP)
{
    const at::Tensor preceding = at::cumsum(descending, 0).sub_(descending);
    const auto* mass = preceding.const_data_ptr<float>();
    std::int64_t kept = 0;
    while (kept < preceding.numel() && mass[kept] <= static_cast<float>(topP))
        ++kept;
    return kept;
}

} // namespace

Nucleus nucleus(const at::Tensor& logits, double temperature, double topP)
{
    const at::Tensor probabilities = at::softmax(logits.div(temperature), 0);
    // Sorting 128,000 probabilities costs more than a layer; nearly always the nucleus lies in the
    // first few.
    constexpr std::int64_t kFirstTry = 256;
    at::Tensor sorted;
    at::Tensor ids;
    std::int64_t kept = probabilities.numel();
    if (probabilities.numel() > kFirstTry) {
        std::tie(sorted, ids) = at::topk(probabilities, kFirstTry);
        kept = keptCount(sorted, topP);
    }
    if (kept >= kFirstTry || !sorted.defined()) {
        std::tie(sorted, ids) = at::sort(probabilities, 0, true);
        kept = keptCount(sorted, topP);
    }
    const at::Tensor head = sorted.narrow(0, 0, kept);
    return {head.div(head.sum()), ids.narrow(0, 0, kept)};
}

std::int64_t drawIndex(const at::Tensor& probabilities, std::int64_t numEntries,
                       at::Generator& generator)
{
    const at::Tensor draws = at::empty({1, numEntries}, at::kFloat).exponential_(1.0, generator);
    const at::Tensor ratios = probabilities.div(draws[0].narrow(0, 0, probabilities.numel()));
    return at::argmax(ratios).item<std::int64_t>();
}

Sampler::Sampler(const SamplingSettings& settings)
    : m_settings(settings)
    , m_generator(at::detail::createCPUGenerator(settings.seed))
{
    if (std::isnan(settings.topP) || settings.topP < 0.0)
        throw ArgumentError("top-p is " + std::to_string(settings.topP) + ", it must be 0 or more");
    if (std::isnan(settings.temperature))
        throw ArgumentError("the temperature is not a number");
    if (settings.maxNewTokens < 1)
        throw ArgumentError("the number of new tokens is " + std::to_string(settings.maxNewTokens) +
                            ", it must be 1 or more");
}

bool Sampler::isGreedy(float largestLogit) const
{
    if (!std::isfinite(largestLogit))
        throw EngineError(
            "the model's logits are not finite numbers, so no token can be chosen: its "
            "weights are damaged, or too large for these numbers (--dtype)");
    // So small a temperature that the division overflows, or that is 0 as a float, leaves one
    // token, too.
    return static_cast<float>(m_settings.temperature) <= 0.0F ||
           std::abs(static_cast<double>(largestLogit)) / m_settings.temperature >
               std::numeric_limits<float>::max();
}

SampledToken Sampler::next(const at::Tensor& logits)
{
    // Sampled without a top-p, tokens are drawn from all.
    if (logits.is_cuda() && (m_settings.temperature <= 0.0 || m_settings.topP < 1.0)) {
        constexpr double kLeast = std::numeric_limits<float>::min();
        constexpr double kMost = std::numeric_limits<float>::max();
        TopLogits top;
        const bool hasTemperature = m_settings.temperature > 0.0;
        cudaKernels()->topLogits(
            logits, hasTemperature ? std::clamp(m_settings.temperature, kLeast, kMost) : 1.0, top);
        if (const auto token = next(top, logits.numel()))
            return *token;
    }
    const at::Tensor onCpu = logits.cpu();
    const auto scored = [&](std::int64_t id) {
        return SampledToken{id, negativeLogLikelihood(onCpu, id)};
    };
    if (isGreedy(onCpu.max().item<float>())) // a NaN anywhere is the largest, too
        return scored(at::argmax(onCpu).item<std::int64_t>());
    const Nucleus kept = nucleus(onCpu, m_settings.temperature, m_settings.topP);
    return scored(
        kept.ids[drawIndex(kept.probabilities, onCpu.numel(), m_generator)].item<std::int64_t>());
}

std::optional<SampledToken> Sampler::next(const TopLogits& top, std::int64_t numTokens)
{
    // Where any is NaN the sum is, but not the largest.
    const bool isGreedyNow =
        isGreedy(std::isnan(top.logSumExp) ? std::numeric_limits<float>::quiet_NaN() : top.largest);
    if (top.count == 0)
        return std::nullopt;
    const auto scored = [&](std::int64_t index) {
        return SampledToken{top.ids[index], top.logSumExp - static_cast<double>(top.logits[index])};
    };
    if (isGreedyNow)
        return scored(0);
    at::Tensor probabilities = at::empty({top.count}, at::kFloat);
    auto* to = probabilities.mutable_data_ptr<float>();
    const auto temperature = static_cast<float>(m_settings.temperature);
    for (int i = 0; i < top.count; ++i)
        to[i] = std::exp((top.logits[i] - top.largest) / temperature) / top.sumAtTemperature;
    const std::int64_t kept = keptCount(probabilities, m_settings.topP);
    const bool isAllMassNeeded = probabilities.sum().item<double>() <=
                                 static_cast<double>(static_cast<float>(m_settings.topP));
    if (isAllMassNeeded && top.count < numTokens)
        return std::nullopt; // the next token is kept, too
    probabilities = probabilities.narrow(0, 0, kept);
    return scored(drawIndex(probabilities.div(probabilities.sum()), numTokens, m_generator));
}

double negativeLogLikelihood(const at::Tensor& logits, std::int64_t id)
{
    const at::Tensor flat = logits.contiguous();
    const auto* values = flat.const_data_ptr<float>();
    const std::int64_t count = flat.numel();
    const float largest = *std::max_element(values, values + count);
    double sum = 0.0;
    for (std::int64_t i = 0; i < count; ++i)
        sum += static_cast<double>(std::exp(values[i] - largest));
    return std::log(sum) + static_cast<double>(largest) - static_cast<double>(values[id]);
}

} // namespace kvscope
