#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kvscope {

/// Byte offset of the first byte that is not well-formed UTF-8 (overlong forms, surrogates and
/// values above U+10FFFF are not), or nothing where all of `text` is. Source: RFC 3629.
std::optional<std::size_t> firstInvalidUtf8(std::string_view text);

/// Length of the longest prefix of `text` that ends on a character boundary: an unfinished but so
/// far well-formed character at the end is left out. Bytes that can never become a character count
/// as finished.
std::size_t completeUtf8Prefix(std::string_view text);

/// `text` with every ill-formed byte, and an unfinished character at the end as a whole, replaced
/// by U+FFFD.
std::string toValidUtf8(std::string_view text);

/// toValidUtf8() fit for one line of a message: control characters (of ASCII and of Latin-1, which
/// steer terminals) and Unicode's line separators become U+FFFD too.
std::string oneLine(std::string_view text);

} // namespace kvscope
