#pragma once

#include "engine/generate/generation.h"
#include "engine/kernels/cuda/top_logits_launch.h"

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace kvscope {

/// The tokens that stay after temperature and top-p, most likely first.
struct Nucleus
{
    at::Tensor probabilities; ///< [kept] float32, descending, renormalised
    at::Tensor ids;           ///< [kept] int64
};

/// softmax(logits / temperature), then every token, in descending order, whose preceding mass is <=
/// topP, renormalised. On exact equality that is one token more than the smallest sufficient set,
/// as the reference keeps. Source: GPT-OSS-Lite inference/generate.py. \param logits  [V] float32;
/// temperature > 0, topP >= 0
Nucleus nucleus(const at::Tensor& logits, double temperature, double topP);

/// Draws one index with the probabilities given, as torch.multinomial(p, 1) does: one exponential
/// per entry of a distribution over `numEntries`, of which `probabilities` are the first and the
/// others are 0, and the largest ratio wins. \param probabilities  [n] float32, n <= numEntries
std::int64_t drawIndex(const at::Tensor& probabilities, std::int64_t numEntries,
                       at::Generator& generator);

struct SampledToken
{
    std::int64_t id;
    double nll; ///< -log of its probability at temperature 1, in nats
};

/// Chooses tokens by the settings, with LibTorch's CPU generator seeded once: the same draws as
/// torch.multinomial(sorted, 1) after torch.manual_seed(seed).
class Sampler
{
public:
    /// \throws ArgumentError for a negative top-p, a temperature that is not a number, or fewer
    /// than one token
    explicit Sampler(const SamplingSettings& settings);

    /// On CUDA a kernel finds the most probable tokens, and the logits stay there unless the
    /// nucleus may go on beyond kMostTopLogits of them. Draws are then those from all logits but
    /// for the order of equal ones and roundings at the nucleus' edge. (V random numbers are drawn
    /// on the processor all the same.) \param logits  [V] float32 \throws EngineError where the
    /// largest logit is not a finite number, or any is NaN
    SampledToken next(const at::Tensor& logits);
    /// The same of what that kernel found; nothing, and nothing drawn, where it is not enough.
    /// \param numTokens  V
    std::optional<SampledToken> next(const TopLogits& top, std::int64_t numTokens);

private:
    bool isGreedy(float largestLogit) const;

    SamplingSettings m_settings;
    at::Generator m_generator;
};

/// -log softmax(logits)[id] in nats, sums in float64. \param logits [V] float32 on the CPU
double negativeLogLikelihood(const at::Tensor& logits, std::int64_t id);

} // namespace kvscope
