#pragma once

#include "engine/lab/proportion_report.h"

#include <cstdint>
#include <vector>

namespace kvscope {

/// All depths of one length together.
struct LengthScore
{
    std::int64_t tokens = 0;
    Proportion score;
};

enum class PassVerdict {
    Passes,    ///< the whole interval is at or above the line
    Fails,     ///< the whole interval is below it
    Undecided, ///< it straddles the line: more trials are wanted here
};

/// One length against the line.
struct LengthVerdict
{
    std::int64_t tokens = 0;
    Proportion score;
    Interval interval;
    PassVerdict verdict = PassVerdict::Undecided;
};

/// The longest length such that it and every shorter measured one pass. It lies from `tokens` to
/// `mostTokens`; they differ where lengths are undecided, which is where further trials belong.
struct EffectiveLength
{
    double threshold = 0.0;
    std::int64_t tokens = 0;      ///< every length to here passes; 0 where the first does not
    std::int64_t mostTokens = 0;  ///< no length to here fails; 0 where the first does
    std::int64_t pointTokens = 0; ///< by the rates alone, as published tables have it
    bool isCensored = false;      ///< no measured length fails: the truth may lie beyond them all
    std::vector<LengthVerdict> lengths; ///< shortest first

    /// Whether there is a line to pass: a share of a short-prompt score of 0 is none, and then no
    /// length passes or fails.
    bool hasLine() const { return threshold > 0.0; }
    bool isDecided() const { return hasLine() && !lengths.empty() && tokens == mostTokens; }
};

} // namespace kvscope
