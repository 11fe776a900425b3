#include "engine/base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace kvscope {
namespace {

enum class Shape { Complete, Unfinished, Invalid };

struct Character
{
    Shape shape;
    std::size_t length; ///< bytes; 1 where invalid, what is there where unfinished
};

/// Classifies the character that begins at text[0]; text is not empty.
Character nextCharacter(std::string_view text)
{
    const auto byteAt = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t lead = byteAt(0);
    if (lead < 0x80)
        return {Shape::Complete, 1};
    const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                               : lead >= 0xE0 && lead <= 0xEF ? 3
                               : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                              : 0;
    if (length == 0)
        return {Shape::Invalid, 1};
    for (std::size_t i = 1; i < length; ++i) {
        if (i == text.size())
            return {Shape::Unfinished, i};
        // The second byte's range excludes overlong forms, surrogates and values past U+10FFFF.
        std::uint8_t low = 0x80;
        std::uint8_t high = 0xBF;
        if (i == 1) {
            low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
            high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        }
        if (byteAt(i) < low || byteAt(i) > high)
            return {Shape::Invalid, 1};
    }
    return {Shape::Complete, length};
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Bytes of the character at `at` that ends a line or steers a terminal; 0 for any other.
std::size_t controlLength(std::string_view text, std::size_t at)
{
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 || byte == 0x7f)
        return 1;
    const std::string_view rest = text.substr(at);
    if (byte == 0xc2 && rest.size() > 1 && static_cast<unsigned char>(rest[1]) < 0xa0)
        return 2; // U+0080 to U+009F
    return rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9") ? 3 : 0;
}

} // namespace

std::optional<std::size_t> firstInvalidUtf8(std::string_view text)
{
    for (std::size_t at = 0; at < text.size();) {
        const Character character = nextCharacter(text.substr(at));
        if (character.shape != Shape::Complete)
            return at;
        at += character.length;
    }
    return std::nullopt;
}

std::size_t completeUtf8Prefix(std::string_view text)
{
    std::size_t at = 0;
    while (at < text.size()) {
        const Character character = nextCharacter(text.substr(at));
        if (character.shape == Shape::Unfinished)
            break;
        at += character.length;
    }
    return at;
}

std::string toValidUtf8(std::string_view text)
{
    std::string valid;
    valid.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const Character character = nextCharacter(text.substr(at));
        if (character.shape == Shape::Complete)
            valid.append(text.substr(at, character.length));
        else
            valid.append("\xEF\xBF\xBD");
        at += character.length;
    }
    return valid;
}

std::string oneLine(std::string_view text)
{
    const std::string valid = toValidUtf8(text);
    std::string line;
    for (std::size_t at = 0; at < valid.size();) {
        const std::size_t control = controlLength(valid, at);
        if (control > 0)
            line += kReplacement;
        else
            line += valid[at];
        at += std::max<std::size_t>(control, 1);
    }
    return line;
}

} // namespace kvscope
