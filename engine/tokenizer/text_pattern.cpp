#include "engine/tokenizer/text_pattern.h"

#include "engine/tokenizer/token_checks.h"

namespace kvscope {

TextPattern TextPattern::literal(std::string text)
{
    requireSpelling(text); // find() may look at as much of the text at every byte of it
    return TextPattern(std::move(text));
}

void TextPattern::findAll(std::string_view text, std::vector<TextRange>& matches) const
{
    if (const auto* expression = std::get_if<RegularExpression>(&m_pattern)) {
        expression->findAll(text, matches);
        return;
    }
    const std::string& wanted = std::get<std::string>(m_pattern);
    if (wanted.empty())
        return;
    for (std::size_t at = text.find(wanted); at != text.npos;
         at = text.find(wanted, at + wanted.size()))
        matches.push_back({at, at + wanted.size()});
}

} // namespace kvscope
