#pragma once

#include "engine/checkpoint/added_token.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// Checks what every encoder asks of its text: well-formed UTF-8, shorter than 2^31 bytes.
/// \throws TokenizerError naming the first ill-formed byte and where it is, or the length.
void requireEncodable(std::string_view text);

/// \throws ArgumentError unless 0 <= id < vocabularySize.
void requireTokenId(std::int64_t id, std::int64_t vocabularySize);

/// Checks the ids of added tokens against the vocabulary that they are added to, of which they may
/// lie some way beyond: memory follows the greatest id, and a file may state any.
/// \throws TokenizerError naming the first that no vocabulary of this size has
void requireAddedIds(const std::vector<AddedToken>& tokens, std::size_t numOwn);

/// Spellings that are looked for at every byte of a text may not be longer, so that time stays
/// linear in the text; the longest in use have a hundred bytes.
inline constexpr std::size_t kMaxSpellingBytes = 512;
/// \throws TokenizerError for one that is
void requireSpelling(std::string_view spelling);

/// What stands for an id that the model has and the vocabulary has no token for.
std::string placeholderPiece(std::int64_t id);

/// "0x04"
std::string byteName(unsigned char byte);

} // namespace kvscope
