#pragma once

#include <string>
#include <string_view>

namespace kvscope {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81"; ///< U+2581, sentencepiece's space

/// `piece` with spaces where it has that symbol.
std::string withSpaces(std::string_view piece);
/// `text` with that symbol where it has spaces.
std::string withSpaceSymbols(std::string_view text);

} // namespace kvscope
