#pragma once

#include "engine/lab/statistics.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kvscope {

/// RULER's line: what Llama-2-7B scores at 4,096 tokens. Source: Hsieh et al. 2024 (2404.06654).
inline constexpr double kAbsolutePassRate = 0.856;
/// NoLiMa's: this share of the score in a short prompt. Source: Modarressi et al. 2025
/// (2502.05167).
inline constexpr double kRelativePassShare = 0.85;

/// 85 % of the short-prompt score, taken as its rate: its own uncertainty is not carried on.
/// \throws ArgumentError as wilsonInterval
double relativePassRate(const Proportion& shortPrompt);

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

/// \throws ArgumentError as wilsonInterval
PassVerdict passVerdict(const Proportion& score, double threshold);

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

    bool isDecided() const { return tokens == mostTokens; }
};

/// By the absolute line (kAbsolutePassRate) or relativePassRate. Scores may come in any order.
/// \throws ArgumentError as wilsonInterval, for a length below 1 or one that comes twice
EffectiveLength effectiveLength(std::span<const LengthScore> scores, double threshold);

} // namespace kvscope
