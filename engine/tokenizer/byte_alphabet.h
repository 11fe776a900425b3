#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kvscope {

/// The byte string that `token` spells in GPT-2's alphabet of printable characters (space is
/// U+0120), or nothing where it holds a character outside it. Source: OpenAI GPT-2 encoder.py,
/// bytes_to_unicode.
std::optional<std::string> bytesFromAlphabet(std::string_view token);

/// Appends the bytes of `bytes` to `text`, spelled in that alphabet: one or two bytes of UTF-8
/// each.
void appendInAlphabet(std::string& text, std::string_view bytes);

} // namespace kvscope
