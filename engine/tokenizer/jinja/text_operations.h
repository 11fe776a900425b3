#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/unicode_text.h"
#include "engine/tokenizer/jinja/value.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What methods of a text and filters share; all as Python's str, all charged for.
namespace kvscope::jinja {

/// \param most  of replacements; negative: all
Value replaced(Run& run, std::string_view text, std::string_view from, std::string_view to,
               std::int64_t most);

enum class SplitFrom { Left, Right };
/// \param separator  nothing: any white space
/// \param most  of splits; negative: all
Value splitText(Run& run, std::string_view text, std::optional<std::string_view> separator,
                std::int64_t most, SplitFrom from);

/// str() of the items with `separator` between them.
Value joinedTexts(Run& run, std::string_view separator, const std::vector<Value>& items);

/// The first letter large, the others small.
Value capitalized(Run& run, std::string_view text);
/// Every word's first letter large, where words begin after what is no letter.
Value titled(Run& run, std::string_view text);
Value upper(Run& run, std::string_view text);
Value lower(Run& run, std::string_view text);

enum class Align { Left, Right, Center };
Value padded(Run& run, std::string_view text, std::int64_t width, std::string_view fill,
             Align align);

/// Without white space, or the characters of `set`, at its sides.
Value strippedText(Run& run, std::string_view text, Sides sides, const Value* set);

} // namespace kvscope::jinja
