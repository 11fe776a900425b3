#pragma once

#include "engine/lab/sweep_request.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace kvscope {

/// Text that losses are taken on. It is never repeated: its second time round would score as a
/// copy.
struct LabText
{
    std::string file;        ///< UTF-8; empty: the built-in prose
    std::int64_t length = 0; ///< tokens from the start; 0: all of it

    bool operator==(const LabText&) const = default;
};

/// What contexts cost, by arithmetic.
struct LimitsExperiment
{
    std::vector<std::int64_t> lengths; ///< tokens; none: doublings to the advertised length
    double budgetGib = 0.0; ///< for weights and cache; 0: the weights and what is free now

    bool operator==(const LimitsExperiment&) const = default;
};

/// Loss by position, under one or two rotary schemes or with one or two kinds of cache.
struct PositionsExperiment
{
    LabText text;
    std::int64_t chunkTokens = 512;    ///< 0: one shot
    std::int64_t numBins = 0;          ///< of equal width; 0: doubling, the last octave halved
    bool isWhole = false;              ///< see PositionsOptions
    std::vector<std::string> rotaries; ///< at most two, "" being the open model's; none: its own
    std::vector<std::string> cacheDtypes{}; ///< as rotaries: "int8"

    bool operator==(const PositionsExperiment&) const = default;
};

/// Time to first token and decode step by length.
struct LatencyExperiment
{
    std::vector<std::int64_t> lengths{256, 512, 1024, 2048}; ///< tokens
    std::int64_t chunkTokens = 512;                          ///< 0: one shot alone
    std::int64_t repeats = 3;
    std::int64_t decodeSteps = 16;

    bool operator==(const LatencyExperiment&) const = default;
};

/// Whether distant text lowers the loss.
struct UseExperiment
{
    LabText text;
    std::int64_t numSegments = 8;
    std::int64_t chunkTokens = 512; ///< 0: a segment in one

    bool operator==(const UseExperiment&) const = default;
};

/// Needle, pairs of facts, or passkey.
struct SweepSettings
{
    SweepRequest request;
};

/// The card: the five claims about one length.
struct CardExperiment
{
    std::int64_t tokens = 0;    ///< 0: what the model is made for, at most 2,048 where quick
    double limitSeconds = 30.0; ///< that the first token may take
    bool isQuick = true;        ///< fewer lengths, each once: minutes instead of an hour
    std::int64_t chunkTokens = 512;

    bool operator==(const CardExperiment&) const = default;
};

using Experiment = std::variant<LimitsExperiment, PositionsExperiment, LatencyExperiment,
                                UseExperiment, SweepSettings, CardExperiment>;

/// An experiment, and where it is kept.
struct ExperimentRequest
{
    Experiment experiment;
    /// A JSON-lines record, see RunRecord; empty: nowhere. Limits and the card are not recorded.
    std::string recordPath;
    /// Goes on with a record of this very run where there is one; false, or what cannot be resumed:
    /// a record that is there is an error.
    bool resumes = true;
    std::uint64_t seed = 0; ///< of everything random
};

/// "limits", "positions", "latency", "use", "needle", "needle-pairs", "passkey", "report": the
/// command of kvscope-cli, and what records call it.
std::string experimentName(const Experiment& experiment);

/// Whether its parts stand for themselves, so that a record of it can be gone on with: losses and
/// sweeps. What is timed or compared within one run begins anew each time.
bool canBeResumed(const Experiment& experiment);

} // namespace kvscope
