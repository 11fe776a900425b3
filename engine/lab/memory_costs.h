#pragma once

#include "engine/checkpoint/model_config.h"

#include <cstdint>

// What a context length costs in memory, by arithmetic from a model's shape: one sequence, live
// bytes, without slack or growth copies. s is the bytes of an element, T the tokens.

namespace kvscope {

/// Keys and values at one length, split by what keeps them.
struct KVBytes
{
    std::uint64_t global = 0;         ///< growing layers: every position
    std::uint64_t windowed = 0;       ///< ring layers: the last min(T, W) positions
    std::uint64_t everyLayerFull = 0; ///< if windowed layers kept every position too
    std::uint64_t unshared = 0;       ///< as `total`, if each query head had its own keys, values

    std::uint64_t total() const { return global + windowed; }
};

/// 2 * Hkv * D * s for every position that a layer keeps (and the scales, where there are any).
/// Source: long-context chapter, claim one (kv_bytes); inference chapter 4.2, 4.7, and 4.4 for
/// `unshared`.
/// \throws ArgumentError for tokens or an element size below 1, or past 2^63 bytes
KVBytes kvBytes(const ModelConfig& config, std::int64_t tokens, const CacheNumbers& numbers);

/// How long a context may become within a budget.
struct ContextFit
{
    bool weightsFit = true;   ///< false: they alone exceed the budget, and `tokens` is 0
    bool isUnbounded = false; ///< every layer is windowed and all rings fit: any length
    std::int64_t tokens = 0;  ///< the longest context; 0 where not even one token fits
};

/// The largest T with weightBytes + kvBytes(T) <= budgetBytes. Weights count because they share the
/// memory; 0 for them answers about the cache alone (4 GiB of Llama-3.2-3B's: 37,449 tokens).
/// Source: long-context chapter, claim one (max_context_for_budget).
/// \throws ArgumentError as kvBytes
ContextFit longestContext(const ModelConfig& config, std::uint64_t budgetBytes,
                          std::uint64_t weightBytes, const CacheNumbers& numbers);

/// V * T * s: the logits of a prefill that keeps every position's instead of the last.
/// Source: long-context chapter, claim three, "The logits".
/// \throws ArgumentError as kvBytes
std::uint64_t allLogitsBytes(const ModelConfig& config, std::int64_t tokens,
                             std::int64_t elementBytes);

/// H * T^2 * s: the scores of one layer of a one-shot prefill, if attention materialises them. A
/// double, since it passes 2^63 while a cache of that length can still be counted.
/// Source: long-context chapter, claim three; 275 GB for one global layer of GPT-OSS-Lite at 128K.
/// \throws ArgumentError as kvBytes
double scoresBytes(const ModelConfig& config, std::int64_t tokens, std::int64_t elementBytes);

/// What a forward pass of so many tokens at once holds beside cache and weights, generously: the
/// residual stream with its norms, one layer's queries, keys and values, and the widest of its
/// feed-forward. float32. \pre tokens >= 0
std::uint64_t activationBytes(const ModelConfig& config, std::int64_t tokens);

/// Bytes copied over a whole run of T tokens, if each step appended by concatenation: step t copies
/// the t tokens before it in every layer, so T (T - 1) / 2 of them. A double for the same reason.
/// Source: inference chapter 4.5 (158 TB for GPT-OSS-Lite at 128K).
/// \throws ArgumentError as kvBytes
double concatenationBytes(const ModelConfig& config, std::int64_t tokens,
                          const CacheNumbers& numbers);

} // namespace kvscope
