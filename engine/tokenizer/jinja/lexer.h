#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvscope::jinja {

struct Token
{
    enum class Kind {
        Data, ///< text between tags
        OutputBegin,
        OutputEnd,
        BlockBegin,
        BlockEnd,
        Name,
        Text,    ///< a literal, its escapes resolved
        Integer, ///< in decimal, without underscores
        Float,
        Sign, ///< an operator or bracket
        End
    };
    Kind kind = Kind::End;
    std::string text;
    int line = 1;

    bool isSign(std::string_view sign) const { return kind == Kind::Sign && text == sign; }
    bool isName(std::string_view name) const { return kind == Kind::Name && text == name; }
};

/// The tokens of a template, with End as the last. White space around tags goes as with trim_blocks
/// and lstrip_blocks, which chat templates assume; comments are gone, raw blocks are data.
/// Source: jinja2 3.1, lexer.py.
/// \throws TemplateError (Syntax, Limit)
std::vector<Token> tokenize(std::string_view source);

} // namespace kvscope::jinja
