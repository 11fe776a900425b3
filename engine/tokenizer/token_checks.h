#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvscope {

/// Checks what every encoder asks of its text: well-formed UTF-8, shorter than 2^31 bytes.
/// \throws TokenizerError naming the first ill-formed byte and where it is, or the length.
void requireEncodable(std::string_view text);

/// \throws ArgumentError unless 0 <= id < vocabularySize.
void requireTokenId(std::int64_t id, std::int64_t vocabularySize);

/// What stands for an id that the model has and the vocabulary has no token for.
std::string placeholderPiece(std::int64_t id);

/// "0x04"
std::string byteName(unsigned char byte);

} // namespace kvscope
