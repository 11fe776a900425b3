#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/value.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvscope::jinja {

/// How one value is written: `[[fill]align][sign][#][0][width][,][.precision][type]`.
struct FormatSpec
{
    std::string fill = " ";
    char align = '\0'; ///< < > ^ =, or the type's own
    char sign = '-';   ///< + or space: for positive numbers too
    std::int64_t width = 0;
    bool hasCommas = false;
    std::optional<std::int64_t> precision;
    char type = '\0';
};

/// \throws TemplateError for what is not read here
FormatSpec parseFormatSpec(std::string_view text);

/// \throws TemplateError where value and type do not go together
Value formatted(Run& run, const FormatSpec& spec, const Value& value);

/// A number of `text` from `at` on, which moves behind it. \throws TemplateError for a huge one
std::int64_t takeNumber(std::string_view text, std::size_t& at);

} // namespace kvscope::jinja
