#pragma once

#include "engine/checkpoint/rotary_config.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kvscope {

/// Inverse frequencies of a scheme, one per pair [d / 2], float32 as models were trained with; d is
/// how many elements of a head rotate and f_i = base^(-2i / d).
///
/// Plain: f_i. Linear: f_i / factor.
///
/// Dynamic: f_i at the base times (factor * n / original - (factor - 1))^(d / (d - 2)), n being
/// `length`, at least `originalPositions`.
///
/// Yarn: f_i * e_i + f_i / factor * (1 - e_i), where 1 - e_i rises from 0 to 1 between the pairs
/// low and high that turn betaFast and betaSlow times in `originalPositions`:
/// d ln(original / (2 pi beta)) / (2 ln base), rounded outwards where roundsRamp.
///
/// Llama3: f_i where the wavelength is below original / high, f_i / factor where it is above
/// original / low, between them blended by s = (original / wavelength - low) / (high - low).
///
/// Long: f_i / divisor_i, of the long list where `length` is above `originalPositions`.
/// (The above as transformers 5.23 defines them, modeling_rope_utils.py.)
///
/// GptOssLite: a ramp over pair numbers between
/// low = max(floor(half / log2(original / betaSlow * pi)), 0) and
/// high = min(ceil(half / log2(original / betaFast * pi)), half - 1), half = d / 2,
/// blends f_i (below low) into f_i / factor (above high); high <= low leaves all plain. This is
/// GPT-OSS-Lite's own formula (models/yarn.py), not the YaRN paper's.
/// \param length  tokens of the whole sequence
std::vector<float> inverseFrequencies(const RotaryConfig& config, std::int64_t headDim,
                                      std::int64_t length);

/// What cos and sin are multiplied by: the scheme's attention factor, 0.1 ln(factor) + 1 for
/// GptOssLite with mscale and a factor above 1, else 1.
double rotaryMagnitude(const RotaryConfig& config);

/// Whether frequencies depend on the sequence's length, so that keys of a shorter one differ.
bool dependsOnLength(const RotaryConfig& config);

/// Rows of cos and sin, both float32 [T, d / 2].
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
    RotaryTable(RotaryConfig config, std::int64_t headDim, std::int64_t identityPairs);

    std::int64_t rotatedDim() const { return m_config.dim(m_headDim); }
    RotaryPairing pairing() const { return m_config.pairing; }

    /// Angles are float32 products position * frequency, as in training.
    /// \param length  see inverseFrequencies()
    RotaryRows rows(std::int64_t firstPosition, std::int64_t count, std::int64_t length) const;

private:
    RotaryConfig m_config;
    std::int64_t m_headDim;
    std::int64_t m_identityPairs;
    std::vector<float> m_frequencies; ///< where they do not depend on the length
};

} // namespace kvscope
