#pragma once

#include "engine/lab/sample_mean_report.h"

#include <cstdint>
#include <string>

namespace kvscope {

/// A prompt from whose middle tokens were dropped, and what the tokens after it then cost.
struct TruncationReport
{
    std::int64_t promptTokens = 0;   ///< before the cut
    std::int64_t keepTokens = 0;     ///< of the preserved beginning
    std::int64_t dropTokens = 0;     ///< behind it
    std::int64_t keptTokens = 0;     ///< after the cut
    std::int64_t reusablePrefix = 0; ///< tokens before the first that changed
    std::int64_t cacheReusable = 0;  ///< what this model's cache can be cut back to exactly
    std::int64_t nextTokens = 0;     ///< scored behind the prompt
    SampleMean uncut;                ///< nll of the next tokens, nats: the whole prompt
    SampleMean recomputed;           ///< the cut prompt, run anew
    SampleMean stale;        ///< the whole prompt's keys and values without the dropped ones
    SampleMean staleCost;    ///< stale - recomputed, paired by token
    SampleMean cutCost;      ///< recomputed - uncut, paired by token
    std::string staleReason; ///< why there is no stale figure; empty: there is one
    std::int64_t recomputedTokens = 0; ///< of the cut prompt: those behind what stayed valid
    double recomputeSeconds = 0.0;     ///< what running them anew took; keeping stale keys saves it
};

} // namespace kvscope
