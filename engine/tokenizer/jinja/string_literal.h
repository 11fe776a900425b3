#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvscope::jinja {

/// The text that a literal's inside stands for, by Python's escapes; those that Python does not
/// know stay as they are. \throws TemplateError for an unfinished or unnamed character
std::string unescaped(std::string_view literal);

struct NumberLiteral
{
    bool isFloat = false;
    std::string text;       ///< decimal, without underscores
    std::size_t length = 0; ///< bytes of the source
};

/// The number that `text` begins with, which is a digit.
/// \param isAfterPoint  `a.0.1` is two numbers: after a point there is no fraction
NumberLiteral readNumberLiteral(std::string_view text, bool isAfterPoint);

} // namespace kvscope::jinja
