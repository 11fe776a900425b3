#pragma once

#include "engine/lab/effective_length_report.h"

#include <span>

namespace kvscope {

/// RULER's line: what Llama-2-7B scores at 4,096 tokens. Source: Hsieh et al. 2024 (2404.06654).
inline constexpr double kAbsolutePassRate = 0.856;
/// NoLiMa's: this share of the score in a short prompt. Source: Modarressi et al. 2025
/// (2502.05167).
inline constexpr double kRelativePassShare = 0.85;

/// 85 % of the short-prompt score, taken as its rate: its own uncertainty is not carried on.
/// \throws ArgumentError as wilsonInterval
double relativePassRate(const Proportion& shortPrompt);

/// Undecided where the line is not above 0, which every score would pass.
/// \throws ArgumentError as wilsonInterval
PassVerdict passVerdict(const Proportion& score, double threshold);

/// By the absolute line (kAbsolutePassRate) or relativePassRate. Scores may come in any order.
/// \throws ArgumentError as wilsonInterval, for a length below 1 or one that comes twice
EffectiveLength effectiveLength(std::span<const LengthScore> scores, double threshold);

} // namespace kvscope
