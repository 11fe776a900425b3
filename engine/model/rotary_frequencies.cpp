#include "engine/model/rotary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/pow.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kvscope {
namespace {

/// base^(2i / d) in float32 through LibTorch: at position 100,000 one unit in the last place of a
/// frequency already turns a pair by 0.006 rad, so the rounding is part of the checkpoint.
std::vector<float> periods(double base, std::int64_t dim)
{
    const at::Tensor exponents = at::arange(0, dim, 2, at::kFloat).div_(static_cast<double>(dim));
    const at::Tensor powers = at::pow(base, exponents).contiguous();
    const float* first = powers.const_data_ptr<float>();
    return {first, first + powers.numel()};
}

std::vector<float> plainFrequencies(double base, std::int64_t dim)
{
    std::vector<float> frequencies = periods(base, dim);
    for (float& frequency : frequencies)
        frequency = 1.0F / frequency;
    return frequencies;
}

/// How far `value` is along from low to high, limited to 0 to 1.
float along(double value, double low, double high)
{
    return static_cast<float>(std::clamp((value - low) / (high - low), 0.0, 1.0));
}

/// Every scheme's frequencies for one base, d and length.
class Frequencies
{
public:
    Frequencies(const RotaryConfig& config, std::int64_t headDim, std::int64_t length)
        : m_base(config.base)
        , m_dim(config.dim(headDim))
        , m_length(length)
    {
    }

    std::vector<float> operator()(const PlainRotary&) const
    {
        return plainFrequencies(m_base, m_dim);
    }

    std::vector<float> operator()(const LinearRotary& linear) const
    {
        std::vector<float> frequencies = plainFrequencies(m_base, m_dim);
        for (float& frequency : frequencies)
            frequency /= static_cast<float>(linear.factor);
        return frequencies;
    }

    std::vector<float> operator()(const DynamicRotary& dynamic) const
    {
        const auto original = static_cast<double>(dynamic.originalPositions);
        const double length = std::max(static_cast<double>(m_length), original);
        const auto dim = static_cast<double>(m_dim);
        const double stretch = dynamic.factor * length / original - (dynamic.factor - 1.0);
        return plainFrequencies(m_base * std::pow(stretch, dim / (dim - 2.0)), m_dim);
    }

    std::vector<float> operator()(const YarnRotary& yarn) const
    {
        const double low = std::max(edge(yarn, yarn.betaFast, std::floor), 0.0);
        double high =
            std::min(edge(yarn, yarn.betaSlow, std::ceil), static_cast<double>(m_dim - 1));
        if (low == high)
            high += 0.001; // as the reference does
        std::vector<float> result = periods(m_base, m_dim);
        for (std::size_t i = 0; i < result.size(); ++i) {
            const float extrapolated = 1.0F / result[i];
            const float interpolated = 1.0F / (static_cast<float>(yarn.factor) * result[i]);
            const float kept = 1.0F - along(static_cast<double>(i), low, high);
            result[i] = interpolated * (1.0F - kept) + extrapolated * kept;
        }
        return result;
    }

    std::vector<float> operator()(const Llama3Rotary& llama3) const
    {
        const auto original = static_cast<float>(llama3.originalPositions);
        const auto factor = static_cast<float>(llama3.factor);
        const auto low = static_cast<float>(llama3.lowFrequencyFactor);
        const auto high = static_cast<float>(llama3.highFrequencyFactor);
        std::vector<float> frequencies = plainFrequencies(m_base, m_dim);
        for (float& frequency : frequencies) {
            const float wavelength = 2.0F * std::numbers::pi_v<float> / frequency;
            if (wavelength > original / low) {
                frequency /= factor;
            } else if (wavelength >= original / high) {
                const float kept = (original / wavelength - low) / (high - low);
                frequency = (1.0F - kept) * frequency / factor + kept * frequency;
            }
        }
        return frequencies;
    }

    std::vector<float> operator()(const LongRotary& longRotary) const
    {
        const std::vector<float>& divisors = m_length > longRotary.originalPositions
                                                 ? longRotary.longDivisors
                                                 : longRotary.shortDivisors;
        std::vector<float> result = periods(m_base, m_dim);
        for (std::size_t i = 0; i < result.size(); ++i)
            result[i] = 1.0F / (divisors[i] * result[i]);
        return result;
    }

    std::vector<float> operator()(const GptOssLiteRotary& yarn) const
    {
        std::vector<float> frequencies = plainFrequencies(m_base, m_dim);
        const auto half = static_cast<double>(m_dim / 2);
        const auto turns = [&](double beta) {
            return half /
                   std::log2(static_cast<double>(yarn.originalPositions) / beta * std::numbers::pi);
        };
        const double low = std::max(std::floor(turns(yarn.betaSlow)), 0.0);
        const double high = std::min(std::ceil(turns(yarn.betaFast)), half - 1.0);
        if (yarn.factor <= 1.0 || high <= low)
            return frequencies;
        for (std::size_t i = 0; i < frequencies.size(); ++i) {
            const float plain = frequencies[i];
            const float scaled = plain / static_cast<float>(yarn.factor);
            const float share = along(static_cast<double>(i), low, high);
            frequencies[i] = plain * (1.0F - share) + scaled * share;
        }
        return frequencies;
    }

private:
    /// The pair that turns `beta` times in the original positions.
    double edge(const YarnRotary& yarn, double beta, double (*rounded)(double)) const
    {
        const auto original = static_cast<double>(yarn.originalPositions);
        const double pair = static_cast<double>(m_dim) *
                            std::log(original / (beta * 2.0 * std::numbers::pi)) /
                            (2.0 * std::log(m_base));
        return yarn.roundsRamp ? rounded(pair) : pair;
    }

    double m_base;
    std::int64_t m_dim;
    std::int64_t m_length;
};

} // namespace

std::vector<float> inverseFrequencies(const RotaryConfig& config, std::int64_t headDim,
                                      std::int64_t length)
{
    std::vector<float> frequencies =
        std::visit(Frequencies(config, headDim, length), config.scheme);
    for (std::size_t i = 0; i < std::min(frequencies.size(), config.frequencyDivisors.size()); ++i)
        frequencies[i] /= config.frequencyDivisors[i];
    return frequencies;
}

double rotaryMagnitude(const RotaryConfig& config)
{
    if (const auto* yarn = std::get_if<YarnRotary>(&config.scheme))
        return yarn->attentionFactor;
    if (const auto* longRotary = std::get_if<LongRotary>(&config.scheme))
        return longRotary->attentionFactor;
    const auto* lite = std::get_if<GptOssLiteRotary>(&config.scheme);
    return lite != nullptr && lite->hasMscale && lite->factor > 1.0
               ? 0.1 * std::log(lite->factor) + 1.0
               : 1.0;
}

bool dependsOnLength(const RotaryConfig& config)
{
    return std::holds_alternative<DynamicRotary>(config.scheme) ||
           std::holds_alternative<LongRotary>(config.scheme);
}

} // namespace kvscope
