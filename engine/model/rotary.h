#pragma once

#include "engine/checkpoint/model_config.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kvscope {

/// Inverse frequencies of a scheme, one per pair [headDim / 2], float32.
///
/// Plain: base^(-2i / headDim), computed in float32 as models were trained with. Linear: divided by
/// `scale`. GptOssLite: a ramp over pair numbers between
/// low = max(floor(half / log2(original / betaSlow * pi)), 0) and
/// high = min(ceil(half / log2(original / betaFast * pi)), half - 1)
/// blends the plain frequency (below low) into plain / scale (above high); high <= low leaves all
/// plain. This is GPT-OSS-Lite's own formula (models/yarn.py), not the YaRN paper's.
std::vector<float> inverseFrequencies(const RotaryConfig& config, std::int64_t headDim);

/// What cos and sin are multiplied by: 0.1 ln(scale) + 1 for GptOssLite with mscale and scale > 1,
/// else 1.
double rotaryMagnitude(const RotaryConfig& config);

/// Rows of cos and sin, both float32 [T, headDim / 2].
struct RotaryRows
{
    at::Tensor cos;
    at::Tensor sin;
};

/// Makes cos and sin for any range of positions; holds the frequencies only, so length costs
/// nothing.
class RotaryTable
{
public:
    /// \param identityPairs  leading pairs that do not rotate: cos 1, sin 0, whatever the magnitude
    RotaryTable(const RotaryConfig& config, std::int64_t headDim, std::int64_t identityPairs);

    /// Angles are float32 products position * frequency, as in training.
    RotaryRows rows(std::int64_t firstPosition, std::int64_t count) const;

private:
    std::vector<float> m_frequencies;
    double m_magnitude;
    std::int64_t m_identityPairs;
};

} // namespace kvscope
