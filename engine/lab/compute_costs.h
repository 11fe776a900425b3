#pragma once

#include "engine/checkpoint/model_config.h"

#include <cstdint>
#include <optional>

// What a context length costs in operations and in bytes read, by arithmetic from a model's shape.
// A multiplication with its addition is 2 FLOPs. d_attn = H * D; L layers, Lg of them global.

namespace kvscope {

/// H * D: the width in which attention multiplies (not the model's: Gemma-2-2B has 2,048 of 2,304).
std::int64_t attentionWidth(const ModelConfig& config);

/// Active parameters that are looked up and never multiplied: an embedding table that is not the
/// head as well, and learned positions. A tied embedding is the head, so it is multiplied.
std::int64_t lookupParameters(const ModelConfig& config);

/// N of the formulas: what one token multiplies with. The active parameters, the tied head
/// counted, less lookupParameters.
std::int64_t multipliedParameters(const ModelConfig& config);

/// FLOPs of a prefill, by the part that does them.
struct PrefillFlops
{
    double dense = 0.0;           ///< 2 N T
    double globalAttention = 0.0; ///< 2 Lg d_attn T^2: causality halves 4 Lg d_attn T^2
    double windowedAttention =
        0.0; ///< per windowed layer 4 d_attn W T, but never above 2 d_attn T^2

    double attention() const { return globalAttention + windowedAttention; }
    double total() const { return dense + attention(); }
    /// Between 0 and 1.
    double attentionShare() const { return attention() / total(); }
};

/// Source: long-context chapter, claim four (prefill_flops). A windowed layer does as much as a
/// global one up to T = 2 W, where the two costs meet.
PrefillFlops prefillFlops(const ModelConfig& config, std::int64_t tokens);

/// Whether an implementation skips what a window hides.
enum class MaskedWork {
    Skipped, ///< a windowed layer's cost is linear in T
    Done,    ///< dense masks: every layer multiplies T x T scores
};

/// The length N / (L d_attn) at which attention's quadratic FLOPs equal the dense ones; where
/// windows are skipped, L counts the global layers alone. Nothing where no layer is quadratic.
/// Source: long-context chapter, claim four (attention_crossover_tokens): 37,700 for Llama-3.2-1B.
std::optional<double> crossoverTokens(const ModelConfig& config, MaskedWork masked);

/// One decode step at a cached length, batch 1.
struct DecodeCost
{
    std::uint64_t weightBytes = 0; ///< read once a step
    std::uint64_t cacheBytes = 0;  ///< the whole cache, read once
    double flops = 0.0;            ///< 2 N, and 4 d_attn per position that a layer looks at

    std::uint64_t bytes() const { return weightBytes + cacheBytes; }
    /// FLOPs per byte; below the machine's ridge the memory decides the time.
    double intensity() const { return flops / static_cast<double>(bytes()); }
    /// The least time the bytes allow. \pre bytesPerSecond > 0
    double seconds(double bytesPerSecond) const
    {
        return static_cast<double>(bytes()) / bytesPerSecond;
    }
};

/// \param weightBytes  what a step reads of them; see weight_bytes.h
/// Source: long-context chapter, claim four (decode_bytes_per_step); inference chapter 4.3.
/// \throws ArgumentError as kvBytes
DecodeCost decodeCost(const ModelConfig& config, std::int64_t cachedTokens,
                      std::uint64_t weightBytes, const CacheNumbers& numbers);

/// FLOPs per byte of attention over the cache alone: 4 H T D over 2 Hkv T D s = 2 H / (Hkv s), D s
/// being a row with its scale. Source: inference chapter 4.3; 2 for GPT-OSS-Lite in 2 bytes, 1
/// without shared heads.
double cacheIntensity(const ModelConfig& config, const CacheNumbers& numbers);

/// FLOPs per byte above which a machine computes longer than it reads.
/// Source: inference chapter 4.3. \pre bytesPerSecond > 0
inline double ridge(double flopsPerSecond, double bytesPerSecond)
{
    return flopsPerSecond / bytesPerSecond;
}

/// What producing keys and values costs over a run of T tokens, each fed one by one.
struct ProjectionFlops
{
    double cached = 0.0;     ///< c T: every token once
    double recomputed = 0.0; ///< c T (T + 1) / 2: every token again at every later step

    /// (T + 1) / 2.
    double factor() const { return recomputed / cached; }
};

/// c = 2 E * 2 Hkv D per layer. Source: inference chapter 4.1 (65,537 times at 128K).
ProjectionFlops projectionFlops(const ModelConfig& config, std::int64_t tokens);

} // namespace kvscope
