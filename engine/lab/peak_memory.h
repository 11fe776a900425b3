#pragma once

#include "engine/lab/peak_memory_report.h"
#include "engine/model/decoder.h"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

namespace kvscope {

struct PeakOptions
{
    std::vector<std::int64_t> lengths; ///< prompt lengths, each at least 1; run in rising order
    std::vector<PrefillWay> ways = {PrefillWay::Chunked, PrefillWay::OneShot, PrefillWay::AllLogits,
                                    PrefillWay::Scores};
    std::int64_t chunkTokens = 512; ///< at least 1
    /// Longest prompt whose scores are materialised: plain operators are slow, and a layer's scores
    /// take H T^2 floats, several times over.
    std::int64_t mostScoresTokens = 2048;
    std::uint64_t seed = 0;        ///< of the random prompt
    std::int64_t contextLimit = 0; ///< longer prompts are skipped; 0: no limit
};

/// Called after each row, run or skipped, on the running thread; may be empty.
using PeakObserver = std::function<void(const PeakRow&)>;

/// The highest resident memory of prefills of random tokens, each above what was resident before
/// it: freed memory goes back to the system between them, and the kernel's own peak starts anew.
/// A short run comes first, so that weights are resident and threads have started. What does not
/// fit, by arithmetic, is skipped with the numbers. On the CPU alone.
/// Source: long-context chapter, claim three.
/// \throws ArgumentError for no lengths, a number that is not positive, another device, or a kernel
/// that does not let the peak be reset; Stopped
PeakReport measurePeaks(Decoder& decoder, const PeakOptions& options, const PeakObserver& observer,
                        std::stop_token stop);

/// Fills in the report's growth from its rows.
void sumUpGrowth(PeakReport& report);

/// What a way is to take at its peak beside the weights: the cache, which is reserved for the whole
/// prompt, activations of what runs at once and what the C library keeps of freed ones (as much
/// again, 16 MiB at most), and the logits or scores that it keeps.
std::uint64_t predictedPeak(const Decoder& decoder, PrefillWay way, std::int64_t tokens,
                            std::int64_t chunkTokens);

} // namespace kvscope
