#pragma once

#include <cstdint>

namespace kvscope {

constexpr int kMostTopLogits = 1024;

/// What a sampler needs of a row of logits: the most probable tokens, and the sums over all.
struct TopLogits
{
    double logSumExp; ///< NaN where a logit is NaN
    float largest;
    float sumAtTemperature; ///< of exp((logit - largest) / temperature)
    /// Tokens below; 0 where more than kMostTopLogits are equally probable. All that are at least
    /// as probable as the last one are there.
    int count;
    float logits[kMostTopLogits]; ///< descending
    int ids[kMostTopLogits];      ///< of equal logits ascending
};

/// Top-k, softmax and log-sum-exp of a row of logits by one block. How far below the largest a
/// logit may lie is found by counting: eight distances at a time, until between a quarter of
/// kMostTopLogits and all of them are as near.
/// Compiled for sm_80 and sm_90; run on a CPU by tst_top_logits_on_cpu, not on a GPU so far.
struct TopLogitsLaunch
{
    const float* logits; ///< [count]
    int count;
    float temperature; ///< positive
    TopLogits* result; ///< on the device
};

} // namespace kvscope
