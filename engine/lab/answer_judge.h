#pragma once

#include "engine/lab/sweep_task.h"

#include <optional>
#include <string>
#include <string_view>

namespace kvscope {

/// An answer that is to state these numbers, all of them, on number boundaries (containsNumber()).
/// What it says instead is told apart: another number and no letter is a bare wrong one.
/// Source: long-context chapter, claim five; the kinds of its 48 wrong answers.
SweepJudgement judgeNumbers(std::string_view answer, const SweepItem& item);

/// An answer whose first five digits in a row, standing alone, are to be the key.
SweepJudgement judgePasskey(std::string_view answer, const SweepItem& item,
                            PasskeyProtocol protocol);

/// The first match of \b(\d{5})\b. In the reference protocol as Python's `re` has it on text: a
/// digit is any of Unicode's decimal digits, a word character any letter, number or "_". Otherwise
/// as with re.ASCII.
/// \param text  UTF-8; Source: GPT-OSS-Lite inference/long_context.py, extract_passkey_from_output
std::optional<std::string> firstFiveDigits(std::string_view text, PasskeyProtocol protocol);

} // namespace kvscope
