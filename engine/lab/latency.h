#pragma once

#include "engine/lab/latency_report.h"
#include "engine/model/decoder.h"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace kvscope {

struct LatencyOptions
{
    std::vector<std::int64_t> lengths; ///< prompt lengths, each at least 1; run in rising order
    std::int64_t chunkTokens = 512;    ///< of the chunked runs; 0: one shot alone
    std::int64_t repeats = 3;          ///< the best counts
    std::int64_t decodeSteps = 16;     ///< timed at each length, after two that are not
    std::uint64_t bandwidthBytes = std::uint64_t{1} << 30; ///< read to measure the memory
    std::uint64_t seed = 0;                                ///< of the random prompt
    std::int64_t contextLimit = 0; ///< longer prompts are skipped; 0: no limit
};

/// What a run tells while it goes on; every member may be empty. Called on the running thread.
struct LatencyObserver
{
    std::function<void(std::int64_t tokens, std::int64_t chunkTokens, const TimedRun&)>
        prefilled;                                        ///< after each timed prefill
    std::function<void(const FirstTokenRow&)> rowDone;    ///< run or skipped
    std::function<void(const DecodeStepRow&)> decodeDone; ///< all steps at a length
    std::function<void(double secondsLeft)> estimated; ///< after each length, by the FLOPs to come
                                                       ///< at the pace of the runs
    std::function<void(const MixedKVCache&)> stepped;  ///< between timed runs: the cache changed
};

/// Time to first token and decode step by length, with the memory bandwidth measured in the same
/// run. A prompt no longer than the chunk is run once, as one shot. Lengths that do not fit the
/// memory or the learned positions are skipped with the reason. The floor is measured on the CPU
/// alone.
/// Source: long-context chapter, claim four.
/// \throws ArgumentError for no lengths, or a number that is not positive; Stopped
LatencyReport measureLatency(Decoder& decoder, const LatencyOptions& options,
                             const LatencyObserver& observer, std::stop_token stop);

/// \throws ArgumentError for no lengths, or a number that is not positive
void requireLatencyRunnable(const LatencyOptions& options);
/// Why a prompt cannot be run, with the numbers; empty where it can.
std::string reasonToSkip(const Decoder& decoder, std::int64_t tokens, std::int64_t chunkTokens);

/// Fills in the slopes from the decode rows that were not disturbed.
void sumUpSlopes(LatencyReport& report);
/// The row's best time and whether all of its runs were disturbed.
FirstTokenRow summedUp(FirstTokenRow row);

} // namespace kvscope
