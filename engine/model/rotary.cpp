#include "engine/model/rotary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/pow.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kvscope {
namespace {

std::vector<float> plainFrequencies(double base, std::int64_t headDim)
{
    // 1 / base^x in float32 through LibTorch: at position 100,000 one unit in the last place of a
    // frequency already turns a pair by 0.006 rad, so the rounding is part of the checkpoint.
    const at::Tensor exponents =
        at::arange(0, headDim, 2, at::kFloat).div_(static_cast<double>(headDim));
    const at::Tensor frequencies = at::pow(base, exponents).reciprocal_().contiguous();
    const float* first = frequencies.const_data_ptr<float>();
    return {first, first + frequencies.numel()};
}

/// The pair numbers between which GPT-OSS-Lite's YaRN blends.
struct Ramp
{
    double low;
    double high;
};

Ramp gptOssLiteRamp(const RotaryConfig& config, std::int64_t numPairs)
{
    const auto half = static_cast<double>(numPairs);
    const auto turns = [&](double beta) {
        return half /
               std::log2(static_cast<double>(config.originalPositions) / beta * std::numbers::pi);
    };
    return {std::max(std::floor(turns(config.betaSlow)), 0.0),
            std::min(std::ceil(turns(config.betaFast)), half - 1.0)};
}

void applyGptOssLite(const RotaryConfig& config, std::vector<float>& frequencies)
{
    const Ramp ramp = gptOssLiteRamp(config, static_cast<std::int64_t>(frequencies.size()));
    if (config.scale <= 1.0 || ramp.high <= ramp.low)
        return;
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const float plain = frequencies[i];
        const float scaled = plain / static_cast<float>(config.scale);
        const double along = (static_cast<double>(i) - ramp.low) / (ramp.high - ramp.low);
        const auto share = static_cast<float>(std::clamp(along, 0.0, 1.0));
        frequencies[i] = plain * (1.0F - share) + scaled * share;
    }
}

} // namespace

std::vector<float> inverseFrequencies(const RotaryConfig& config, std::int64_t headDim)
{
    std::vector<float> frequencies = plainFrequencies(config.base, headDim);
    if (config.scheme == RotaryScheme::Linear)
        for (float& frequency : frequencies)
            frequency /= static_cast<float>(config.scale);
    if (config.scheme == RotaryScheme::GptOssLite)
        applyGptOssLite(config, frequencies);
    for (std::size_t i = 0; i < std::min(frequencies.size(), config.frequencyDivisors.size()); ++i)
        frequencies[i] /= config.frequencyDivisors[i];
    return frequencies;
}

double rotaryMagnitude(const RotaryConfig& config)
{
    if (config.scheme != RotaryScheme::GptOssLite || !config.hasMscale || config.scale <= 1.0)
        return 1.0;
    return 0.1 * std::log(config.scale) + 1.0;
}

RotaryTable::RotaryTable(const RotaryConfig& config, std::int64_t headDim,
                         std::int64_t identityPairs)
    : m_frequencies(inverseFrequencies(config, headDim))
    , m_magnitude(rotaryMagnitude(config))
    , m_identityPairs(identityPairs)
{
}

RotaryRows RotaryTable::rows(std::int64_t firstPosition, std::int64_t count) const
{
    const auto numPairs = static_cast<std::int64_t>(m_frequencies.size());
    RotaryRows rows{at::empty({count, numPairs}, at::kFloat),
                    at::empty({count, numPairs}, at::kFloat)};
    auto* cos = rows.cos.mutable_data_ptr<float>();
    auto* sin = rows.sin.mutable_data_ptr<float>();
    const auto magnitude = static_cast<float>(m_magnitude);
    for (std::int64_t t = 0; t < count; ++t) {
        const auto position = static_cast<float>(firstPosition + t);
        for (std::int64_t i = 0; i < numPairs; ++i) {
            const bool isIdentity = i < m_identityPairs;
            const float angle = position * m_frequencies[static_cast<std::size_t>(i)];
            *cos++ = isIdentity ? 1.0F : std::cos(angle) * magnitude;
            *sin++ = isIdentity ? 0.0F : std::sin(angle) * magnitude;
        }
    }
    return rows;
}

} // namespace kvscope
