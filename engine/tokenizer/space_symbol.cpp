#include "engine/tokenizer/space_symbol.h"

namespace kvscope {

std::string withSpaces(std::string_view piece)
{
    std::string text;
    text.reserve(piece.size());
    for (std::size_t at = 0; at < piece.size();) {
        if (piece.substr(at).starts_with(kSpaceSymbol)) {
            text.push_back(' ');
            at += kSpaceSymbol.size();
        } else {
            text.push_back(piece[at++]);
        }
    }
    return text;
}

std::string withSpaceSymbols(std::string_view text)
{
    std::string spelled;
    spelled.reserve(text.size() + text.size() / 4);
    for (const char byte : text) {
        if (byte == ' ')
            spelled += kSpaceSymbol;
        else
            spelled += byte;
    }
    return spelled;
}

} // namespace kvscope
