#pragma once

#include "engine/base/cache_numbers.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvscope {

/// What one length costs. Arithmetic, not a measurement; batch 1.
struct LimitsRow
{
    std::int64_t tokens = 0;
    // memory
    std::uint64_t globalCacheBytes = 0;   ///< growing layers
    std::uint64_t windowedCacheBytes = 0; ///< ring layers, capped at their window
    std::uint64_t cacheBytes = 0;         ///< both
    std::uint64_t fullCacheBytes = 0;     ///< if every layer kept every position
    std::uint64_t unsharedCacheBytes = 0; ///< if every query head had keys and values of its own
    std::uint64_t allLogitsBytes = 0;     ///< of a prefill that keeps every position's logits
    double scoresBytes = 0.0;             ///< of one layer, where they are materialised
    std::optional<bool> fitsBudget;       ///< nothing without a budget
    // prefill
    double denseFlops = 0.0;
    double globalAttentionFlops = 0.0;
    double windowedAttentionFlops = 0.0;
    double attentionShare = 0.0; ///< of all FLOPs, 0 to 1
    // one decode step, this many tokens being cached
    std::uint64_t decodeBytes = 0; ///< weights and cache, read once
    double decodeFlops = 0.0;
    double decodeIntensity = 0.0; ///< FLOPs per byte
    double decodeSeconds = 0.0;   ///< the bytes at the bandwidth: a floor
    double tokensPerSecond = 0.0; ///< its inverse: a ceiling
    // the run of this many tokens without a cache, or with one that is concatenated
    double projectionFlops = 0.0; ///< keys and values, every token once
    double recomputeFactor = 0.0; ///< times that without a cache
    double concatenationBytes = 0.0;
};

/// A memory budget and what it allows.
struct BudgetFit
{
    std::uint64_t budgetBytes = 0;
    bool countsWeights = true; ///< false: the budget is the cache's alone
    bool weightsFit = true;
    bool isUnbounded = false;        ///< every layer is windowed, and the rings fit
    std::int64_t longestContext = 0; ///< tokens; 0 where none fits
};

/// The machine that times and the ridge are about.
struct MachineSpeed
{
    double bytesPerSecond = 2.04e12;                          ///< memory bandwidth
    double flopsPerSecond = 312e12;                           ///< peak of the matrix units
    std::string source = "A100 80 GB as published, bfloat16"; ///< inference chapter 4.3
};

/// What a model's context costs: the "accepts" and "fits" claims by arithmetic. A value: written
/// once, then only read.
struct LimitsReport
{
    std::string name;
    std::string family;
    std::int64_t totalParameters = 0;
    std::int64_t activeParameters = 0;
    std::int64_t multipliedParameters = 0; ///< N: active ones but for tables only looked up
    std::int64_t numLayers = 0;
    std::int64_t numGlobalLayers = 0;
    std::int64_t numWindowedLayers = 0;
    std::int64_t numHeads = 0;
    std::int64_t numKvHeads = 0;
    std::int64_t headDim = 0;
    std::int64_t attentionWidth = 0; ///< d_attn = H * D
    std::int64_t vocabularySize = 0;
    std::int64_t trainedPositions = 0;  ///< 0: not stated
    std::int64_t extendedPositions = 0; ///< what is advertised; 0: not stated
    std::uint64_t weightBytes = 0;
    std::uint64_t decodeWeightBytes = 0; ///< what one token reads of them
    CacheNumbers cacheNumbers;
    std::int64_t logitElementBytes = 0;   ///< of logits and scores
    std::uint64_t cacheBytesPerLayer = 0; ///< of one token in one layer
    std::optional<BudgetFit> budget;
    MachineSpeed machine;
    double ridge = 0.0;                    ///< FLOPs per byte of `machine`
    double cacheIntensity = 0.0;           ///< FLOPs per byte of attention over the cache
    std::optional<double> crossoverTokens; ///< attention's FLOPs overtake, windows being skipped
    std::optional<double> denseMaskCrossoverTokens; ///< the same with dense masks
    std::vector<LimitsRow> rows;                    ///< one a length, in the order asked
};

} // namespace kvscope
