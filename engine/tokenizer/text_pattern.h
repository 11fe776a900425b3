#pragma once

#include "engine/tokenizer/regular_expression.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kvscope {

/// What a step of a tokenizer looks for: a text as it stands, or a regular expression.
class TextPattern
{
public:
    /// \throws TokenizerError for one of more than kMaxSpellingBytes
    static TextPattern literal(std::string text);
    /// \throws TokenizerError
    static TextPattern expression(std::string_view pattern)
    {
        return TextPattern(RegularExpression(pattern));
    }

    bool isExpression() const { return std::holds_alternative<RegularExpression>(m_pattern); }
    /// Appends every match from the left, none overlapping. An empty literal has none.
    /// \param text  well-formed UTF-8; for a literal any bytes
    void findAll(std::string_view text, std::vector<TextRange>& matches) const;

private:
    explicit TextPattern(std::variant<std::string, RegularExpression> pattern)
        : m_pattern(std::move(pattern))
    {
    }

    std::variant<std::string, RegularExpression> m_pattern;
};

} // namespace kvscope
