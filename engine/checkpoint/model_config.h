#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// How far back a layer's queries may look, which decides the kind of its cache.
enum class LayerKind {
    Global,   ///< every earlier position: a growing array
    Windowed, ///< the newest `window` positions: a ring
};

/// Which two elements of a head rotate together.
enum class RotaryPairing {
    Adjacent, ///< (2i, 2i+1): GPT-OSS-Lite, and GGUF's llama tensors as stored
    Half,     ///< (i, i + headDim/2): Hugging Face's layout
};

/// How rotary frequencies are derived from the base.
enum class RotaryScheme {
    Plain,      ///< base^(-2i/headDim)
    Linear,     ///< plain frequencies divided by `scale`
    GptOssLite, ///< that architecture's own YaRN; see engine/model/rotary.h
};

struct RotaryConfig
{
    RotaryScheme scheme = RotaryScheme::Plain;
    RotaryPairing pairing = RotaryPairing::Half;
    double base = 10000.0;
    double scale = 1.0;                 ///< context extension factor
    std::int64_t originalPositions = 0; ///< positions before extension (GptOssLite)
    double betaFast = 32.0;             ///< GptOssLite: fast end of the ramp
    double betaSlow = 1.0;              ///< GptOssLite: slow end of the ramp
    bool hasMscale = true; ///< GptOssLite: cos and sin are multiplied by 0.1 ln(scale) + 1
    std::vector<float> frequencyDivisors; ///< GGUF `rope_freqs.weight`: one per pair, or empty
};

/// Routed feed-forward of a mixture-of-experts layer. An expert is w2(silu(w1 x) * w3 x).
struct MoEConfig
{
    std::int64_t numExperts = 0;
    std::int64_t numActive = 0; ///< top-k
    std::int64_t numShared = 0; ///< always on, added with weight 1
};

struct LayerConfig
{
    LayerKind kind = LayerKind::Global;
    std::int64_t window = 0; ///< query i sees key j when 0 <= i - j < window; 0 where global
    std::int64_t identityPairs =
        0;                ///< leading rotary pairs left unrotated (cos 1, sin 0, no mscale)
    bool hasSink = false; ///< one learned logit per query head
};

/// Everything about a decoder's shape that its forward pass and its cache need. Filled and checked
/// by the checkpoint floor: every count is positive and the parts agree with each other.
struct ModelConfig
{
    std::string architecture; ///< "gpt-oss-lite" or "llama"
    std::string name;         ///< for people: general.name, or the file's or folder's name
    std::int64_t vocabularySize = 0;
    std::int64_t modelWidth = 0;     ///< E
    std::int64_t numHeads = 0;       ///< H
    std::int64_t numKvHeads = 0;     ///< Hkv, divides H
    std::int64_t headDim = 0;        ///< D, even
    std::int64_t feedForwardDim = 0; ///< of one expert where there are experts
    double normEpsilon = 1e-5;
    bool hasTiedHead = false;          ///< the head is the embedding matrix
    std::int64_t trainedPositions = 0; ///< 0 where the file does not say
    std::int64_t extendedPositions =
        0; ///< what a rotary extension aims at; trainedPositions without one
    RotaryConfig rotary;
    std::optional<MoEConfig> experts;
    std::vector<LayerConfig> layers; ///< one per layer, so its size is the number of layers

    std::int64_t numLayers() const { return static_cast<std::int64_t>(layers.size()); }
    std::int64_t numLayers(LayerKind kind) const;
    /// All weights, the tied head counted once.
    std::int64_t totalParameters() const;
    /// The weights that one token's forward pass multiplies with or looks up: all of them, less the
    /// routed experts it does not visit.
    std::int64_t activeParameters() const;
    /// Keys and values of one token in one layer, in bytes: 2 * Hkv * D * bytesPerElement.
    std::int64_t cacheBytesPerToken(std::int64_t bytesPerElement) const
    {
        return 2 * numKvHeads * headDim * bytesPerElement;
    }
};

/// "gpt-oss-lite", "llama", ... as people write it, with the sizes: one line.
std::string summary(const ModelConfig& config);

/// Refuses numbers that no model has: counts that are not positive or so large that products of
/// them overflow, query heads that the key/value heads do not divide, an odd head size, a window of
/// 0, a base or epsilon that is not a positive finite number. \param file  where the configuration
/// is from, for the message \throws CheckpointError naming the number, its limits and what was
/// found
void validate(const ModelConfig& config, std::string_view file);

} // namespace kvscope
