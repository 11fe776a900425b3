#include "engine/base/utf8.h"

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

} // namespace kvscope
