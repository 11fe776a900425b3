#pragma once

#include "engine/base/cache_numbers.h"
#include "engine/checkpoint/rotary_config.h"

#include <cmath>
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

enum class NormKind {
    RMS,   ///< x / sqrt(mean(x^2) + epsilon) * gain
    Layer, ///< (x - mean) / sqrt(variance + epsilon) * gain + bias
};

/// What a feed-forward does between its matrices.
enum class Activation {
    Silu,        ///< x sigmoid(x)
    Gelu,        ///< x Phi(x), by the error function
    GeluTanh,    ///< its approximation by tanh, which GPT-2 and Gemma were trained with
    ClampedSilu, ///< gpt-oss: with g = min(gate, 7) and u = up within +-7, g sigmoid(1.702 g) (u +
                 ///< 1)
};

inline constexpr double kClampedSiluLimit = 7.0;
inline constexpr double kClampedSiluAlpha = 1.702;

/// Where queries and keys are normalised before they rotate.
enum class QueryKeyNorm {
    None,
    Head, ///< each head by itself, gain [D]
    All,  ///< all heads of a token together, gain [H * D] and [Hkv * D]
};

/// Routed feed-forward of a mixture-of-experts layer, each expert a gated feed-forward.
struct MoEConfig
{
    std::int64_t numExperts = 0;
    std::int64_t numActive = 0; ///< top-k
    std::int64_t numShared = 0; ///< always on, added with weight 1 or their gate
    std::int64_t expertDim = 0; ///< inner size of a routed expert; 0: feedForwardDim
    std::int64_t sharedDim = 0; ///< inner size of a shared expert; 0: the routed one's
    bool hasSharedGate = false; ///< shared experts count sigmoid(w x), Qwen2-MoE
    bool hasRouterBias = false;
    bool normalisesWeights = true; ///< the chosen experts' probabilities are made to sum to 1
};

struct LayerConfig
{
    LayerKind kind = LayerKind::Global;
    std::int64_t window = 0; ///< query i sees key j when 0 <= i - j < window; 0 where global
    std::int64_t identityPairs =
        0;                   ///< leading rotary pairs left unrotated (cos 1, sin 0, no mscale)
    bool hasSink = false;    ///< one learned logit per query head
    bool isRotated = true;   ///< false: no rotation at all (learned positions, or none)
    bool hasExperts = false; ///< routed experts instead of the dense feed-forward
};

/// Everything about a decoder's shape that its forward pass and its cache need. Filled and checked
/// by the checkpoint floor: every count is positive and the parts agree with each other.
struct ModelConfig
{
    std::string architecture; ///< the family: "gpt-oss-lite", "llama", "gemma3", ...
    std::string name;         ///< for people: general.name, or the file's or folder's name
    std::int64_t vocabularySize = 0;
    std::int64_t modelWidth = 0;     ///< E
    std::int64_t numHeads = 0;       ///< H
    std::int64_t numKvHeads = 0;     ///< Hkv, divides H
    std::int64_t headDim = 0;        ///< D, even
    std::int64_t feedForwardDim = 0; ///< of a dense layer; of one expert where MoEConfig says none
    bool hasTiedHead = false;        ///< the head is the embedding matrix
    std::int64_t trainedPositions = 0; ///< 0 where the file does not say
    std::int64_t extendedPositions =
        0; ///< what a rotary extension aims at; trainedPositions without one
    bool hasLearnedPositions = false; ///< a vector per position is added to the embedding
    RotaryConfig rotary;
    std::optional<RotaryConfig> windowedRotary; ///< of windowed layers, where they have their own
    std::optional<MoEConfig> experts;
    std::vector<LayerConfig> layers; ///< one per layer, so its size is the number of layers

    NormKind norm = NormKind::RMS;
    double normEpsilon = 1e-5;
    bool addsOneToGains = false; ///< stored gains are gain - 1 (Gemma in Hugging Face's files)
    bool hasPreNorms = true;     ///< before attention and feed-forward
    bool hasPostNorms = false;   ///< on what attention and feed-forward give, before it is added
    QueryKeyNorm queryKeyNorm = QueryKeyNorm::None;
    bool hasQueryKeyValueBias = false;
    bool hasOutputBias = false;      ///< of attention
    bool hasFeedForwardBias = false; ///< of every matrix of the feed-forward or of the experts
    Activation activation = Activation::Silu;
    bool isGated = true;                  ///< down(act(gate x) * up x); otherwise down(act(up x))
    bool clampsSinks = false;             ///< to [-10, 15] before use: GPT-OSS-Lite
    double embeddingScale = 1.0;          ///< multiplies looked-up embeddings
    double residualScale = 1.0;           ///< multiplies what a layer adds
    double logitScale = 1.0;              ///< multiplies logits
    std::optional<double> attentionScale; ///< multiplies q.k; nothing: 1 / sqrt(D)
    double attentionSoftCap = 0.0;        ///< scores become cap tanh(score / cap); 0: none
    double finalSoftCap = 0.0;            ///< the same of logits

    double scoreScale() const
    {
        return attentionScale ? *attentionScale : 1.0 / std::sqrt(static_cast<double>(headDim));
    }
    const RotaryConfig& rotaryOf(const LayerConfig& layer) const
    {
        return windowedRotary && layer.kind == LayerKind::Windowed ? *windowedRotary : rotary;
    }
    /// Inner size of a routed expert. \pre experts
    std::int64_t expertDim() const
    {
        return experts->expertDim > 0 ? experts->expertDim : feedForwardDim;
    }
    /// Inner size of a shared expert. \pre experts
    std::int64_t sharedExpertDim() const
    {
        return experts->sharedDim > 0 ? experts->sharedDim : expertDim();
    }
    std::int64_t numLayers() const { return static_cast<std::int64_t>(layers.size()); }
    std::int64_t numLayers(LayerKind kind) const;
    /// All weights, the tied head counted once.
    std::int64_t totalParameters() const;
    /// The weights that one token's forward pass multiplies with or looks up: all of them, less the
    /// routed experts it does not visit.
    std::int64_t activeParameters() const;
    /// Keys and values of one token in one layer, in bytes: 2 * Hkv rows of D numbers.
    std::int64_t cacheBytesPerToken(const CacheNumbers& numbers) const
    {
        return 2 * numKvHeads * numbers.rowBytes(headDim);
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
