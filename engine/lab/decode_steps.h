#pragma once

#include "engine/lab/latency_report.h"
#include "engine/model/decoder.h"
#include "engine/tokenizer/tokenizer.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

namespace kvscope {

struct DecodeStepsOptions
{
    std::int64_t steps = 16;           ///< timed, after two that are not
    std::int64_t plannedLength = 0;    ///< ForwardOptions::plannedLength
    double bytesPerSecond = 0.0;       ///< memory bandwidth, for the floor; 0: none is given
    std::function<TokenId()> anyToken; ///< what each step is fed
    KernelPath path = KernelPath::Fast;
};

/// Times decode steps behind what the cache holds, which they lengthen. Batch 1.
/// \returns nothing where the learned positions do not suffice
/// \throws Stopped; MemoryError past the cache's cap
std::optional<DecodeStepRow> timeDecodeSteps(Decoder& decoder, MixedKVCache& cache,
                                             const DecodeStepsOptions& options,
                                             const std::stop_token& stop);

/// The median of the undisturbed steps, of all where every one was. \pre steps not empty
DecodeStepRow decodeRow(std::int64_t cachedTokens, const std::vector<TimedRun>& steps);

/// Appends random keys and values: what a step costs does not depend on them. Reserves room for
/// 1,024 positions more. \throws Stopped; MemoryError past the cache's cap
void fillWithRandom(MixedKVCache& cache, std::int64_t numTokens, const std::stop_token& stop);

} // namespace kvscope
