#include "engine/tokenizer/token_checks.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/base/utf8.h"
#include "engine/checkpoint/error_text.h"

#include <limits>

namespace kvscope {

std::string byteName(unsigned char byte)
{
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    return {'0', 'x', kDigits[byte >> 4U], kDigits[byte & 0xFU]};
}

std::string placeholderPiece(std::int64_t id)
{
    return "<no token " + std::to_string(id) + ">";
}

void requireEncodable(std::string_view text)
{
    // Both encoders count positions in 32 bits.
    if (text.size() > std::numeric_limits<std::int32_t>::max())
        throw TokenizerError("The text has " + formatFileSize(text.size()) +
                             "; at most 2 GiB can be encoded at once.");
    if (const auto bad = firstInvalidUtf8(text)) {
        throw TokenizerError("The text is not UTF-8: byte " + std::to_string(*bad) + " is " +
                             byteName(static_cast<unsigned char>(text[*bad])) +
                             ", which begins no character; save it as UTF-8 and try again.");
    }
}

void requireAddedIds(const std::vector<AddedToken>& tokens, std::size_t numOwn)
{
    constexpr std::size_t kFreeIds = 65'536; // gaps that are not held against a file
    const auto limit = static_cast<std::int64_t>(2 * (numOwn + tokens.size()) + kFreeIds);
    for (const AddedToken& token : tokens)
        if (token.id < 0 || token.id >= limit)
            throw TokenizerError("The added token '" + printable(token.content) + "' has the id " +
                                 std::to_string(token.id) + " in a vocabulary of " +
                                 formatCount(static_cast<std::int64_t>(numOwn)) + ".");
}

void requireSpelling(std::string_view spelling)
{
    if (spelling.size() > kMaxSpellingBytes)
        throw TokenizerError("The token or pattern '" + printable(spelling) + "' has " +
                             std::to_string(spelling.size()) + " bytes; at most " +
                             std::to_string(kMaxSpellingBytes) +
                             " are read of what is looked for in every text.");
}

void requireTokenId(std::int64_t id, std::int64_t vocabularySize)
{
    if (id >= 0 && id < vocabularySize)
        return;
    throw ArgumentError("Token " + std::to_string(id) +
                        " is outside the vocabulary, whose ids are 0 to " +
                        std::to_string(vocabularySize - 1) + ".");
}

} // namespace kvscope
