#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace kvscope {

/// Which two elements of a head rotate together.
enum class RotaryPairing {
    Adjacent, ///< (2i, 2i+1): GPT-OSS-Lite, and GGUF's llama tensors as stored
    Half,     ///< (i, i + rotatedDim/2): Hugging Face's layout
};

// How the angles of a pair are derived from base and position: one type a scheme. `factor` is how
// many times longer than `originalPositions` contexts are meant to become. The formulas stand in
// engine/model/rotary.h.

/// base^(-2i/d) per position: what a model without context extension has.
struct PlainRotary
{
};

/// Every position divided by `factor`. Source: Chen et al. 2023 (2306.15595).
struct LinearRotary
{
    double factor = 1.0;
};

/// A larger base beyond `originalPositions`, chosen from the length so far: "dynamic NTK".
struct DynamicRotary
{
    double factor = 1.0;
    std::int64_t originalPositions = 0;
};

/// Slow pairs interpolated, fast ones kept. Source: Peng et al. 2023 (2309.00071), section 3.2.
struct YarnRotary
{
    double factor = 1.0;
    std::int64_t originalPositions = 0;
    double betaFast = 32.0;
    double betaSlow = 1.0;
    double attentionFactor = 1.0; ///< cos and sin are multiplied by it
    bool roundsRamp = true;       ///< the ramp's ends are whole pair numbers
};

/// Slow pairs interpolated by wavelength, as Llama 3.1 does.
struct Llama3Rotary
{
    double factor = 1.0;
    double lowFrequencyFactor = 1.0;
    double highFrequencyFactor = 4.0;
    std::int64_t originalPositions = 0;
};

/// A divisor for every pair, one list for contexts up to `originalPositions` and one for longer.
/// Source: Ding et al. 2024 (2402.13753).
struct LongRotary
{
    std::vector<float> shortDivisors; ///< one per pair
    std::vector<float> longDivisors;  ///< one per pair
    double factor = 1.0;
    std::int64_t originalPositions = 0;
    double attentionFactor = 1.0; ///< cos and sin are multiplied by it
};

/// GPT-OSS-Lite's own YaRN, whose ramp is not the paper's. Source: its models/yarn.py.
struct GptOssLiteRotary
{
    double factor = 1.0;
    std::int64_t originalPositions = 0;
    double betaFast = 32.0;
    double betaSlow = 1.0;
    bool hasMscale = true; ///< cos and sin are multiplied by 0.1 ln(factor) + 1
};

using RotaryScheme = std::variant<PlainRotary, LinearRotary, DynamicRotary, YarnRotary,
                                  Llama3Rotary, LongRotary, GptOssLiteRotary>;

struct RotaryConfig
{
    RotaryScheme scheme;
    RotaryPairing pairing = RotaryPairing::Half;
    double base = 10000.0;
    std::int64_t rotatedDim = 0;          ///< leading elements of a head that rotate, even; 0: all
    std::vector<float> frequencyDivisors; ///< GGUF `rope_freqs.weight`: one per pair, or empty

    /// d of the formulas: how many elements of a head rotate.
    std::int64_t dim(std::int64_t headDim) const { return rotatedDim > 0 ? rotatedDim : headDim; }
};

} // namespace kvscope
