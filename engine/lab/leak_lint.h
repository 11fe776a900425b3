#pragma once

#include "engine/lab/sweep_task.h"

#include <string_view>

namespace kvscope {

/// Where a prompt gives its answer away.
enum class Leak {
    None,
    Filler,   ///< another stretch helps
    Question, ///< the test is no test
    Template, ///< the chat template's own text
};

/// Looks for each of the item's answers, on number boundaries, in everything that is not its
/// statement. Source: GPT-OSS-Lite's passkey question, which repeats the passkey.
/// \param promptText  the whole prompt, template included
Leak findLeak(const SweepItem& item, const SweepMessage& message, std::string_view promptText);

} // namespace kvscope
