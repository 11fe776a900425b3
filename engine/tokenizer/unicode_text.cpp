#include "engine/tokenizer/unicode_text.h"

#include <algorithm>
#include <array>
#include <utf8proc.h>
#include <vector>

namespace kvscope {
namespace {

bool isCompatibility(NormalForm form)
{
    return form == NormalForm::CompatibilityComposed || form == NormalForm::CompatibilityDecomposed;
}

bool isComposed(NormalForm form)
{
    return form == NormalForm::Composed || form == NormalForm::CompatibilityComposed;
}

bool isMark(std::int32_t codePoint)
{
    const utf8proc_category_t category = utf8proc_category(codePoint);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
           category == UTF8PROC_CATEGORY_ME;
}

std::vector<std::int32_t> decomposed(std::string_view text, NormalForm form)
{
    int options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    if (isCompatibility(form))
        options |= UTF8PROC_COMPAT;
    std::vector<std::int32_t> characters;
    characters.reserve(text.size());
    std::array<std::int32_t, 32> parts{}; // the longest decomposition, of U+FDFA, has 18
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint character = codePointAt(text, at);
        at += character.length;
        int boundary = 0;
        const auto count =
            utf8proc_decompose_char(character.value, parts.data(), parts.size(),
                                    static_cast<utf8proc_option_t>(options), &boundary);
        if (count > 0 && count <= static_cast<utf8proc_ssize_t>(parts.size()))
            characters.insert(characters.end(), parts.begin(), parts.begin() + count);
        else
            characters.push_back(character.value);
    }
    return characters;
}

/// Canonical ordering. utf8proc's own moves one mark at a time, which is quadratic in a run.
void orderMarks(std::vector<std::int32_t>& characters)
{
    const auto classOf = [](std::int32_t codePoint) {
        return utf8proc_get_property(codePoint)->combining_class;
    };
    const auto isStarter = [&](std::int32_t codePoint) { return classOf(codePoint) == 0; };
    for (auto begin = characters.begin(); begin != characters.end();) {
        begin = std::find_if_not(begin, characters.end(), isStarter);
        const auto end = std::find_if(begin, characters.end(), isStarter);
        std::stable_sort(begin, end,
                         [&](std::int32_t a, std::int32_t b) { return classOf(a) < classOf(b); });
        begin = end;
    }
}

} // namespace

CodePoint codePointAt(std::string_view text, std::size_t at)
{
    std::int32_t codePoint = 0;
    const auto length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                         static_cast<utf8proc_ssize_t>(text.size() - at), &codePoint);
    if (length <= 0)
        return {static_cast<std::uint8_t>(text[at]), 1};
    return {codePoint, static_cast<std::size_t>(length)};
}

void appendCodePoint(std::string& text, std::int32_t codePoint)
{
    std::array<utf8proc_uint8_t, 4> bytes{};
    const auto length = utf8proc_encode_char(codePoint, bytes.data());
    text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
}

bool isWhiteSpace(std::int32_t codePoint)
{
    return (codePoint >= 0x09 && codePoint <= 0x0D) || codePoint == 0x20 || codePoint == 0x85 ||
           codePoint == 0xA0 || codePoint == 0x1680 ||
           (codePoint >= 0x2000 && codePoint <= 0x200A) || codePoint == 0x2028 ||
           codePoint == 0x2029 || codePoint == 0x202F || codePoint == 0x205F || codePoint == 0x3000;
}

bool isWordCharacter(std::int32_t codePoint)
{
    if (codePoint == 0x200C || codePoint == 0x200D) // the joiners
        return true;
    switch (utf8proc_category(codePoint)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
        return true;
    default:
        return false;
    }
}

std::string normalized(std::string_view text, NormalForm form)
{
    std::vector<std::int32_t> characters = decomposed(text, form);
    orderMarks(characters);
    if (isComposed(form)) {
        const auto length = utf8proc_normalize_utf32(
            characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
            static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
        characters.resize(static_cast<std::size_t>(std::max<utf8proc_ssize_t>(length, 0)));
    }
    std::string result;
    result.reserve(text.size());
    for (const std::int32_t character : characters)
        appendCodePoint(result, character);
    return result;
}

std::string lowerCased(std::string_view text)
{
    constexpr std::int32_t kCapitalIWithDot = 0x130; // the one whose lower case is two characters
    std::string lower;
    lower.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint character = codePointAt(text, at);
        at += character.length;
        if (character.value == kCapitalIWithDot)
            lower += "i\xCC\x87";
        else
            appendCodePoint(lower, utf8proc_tolower(character.value));
    }
    return lower;
}

std::string withoutMarks(std::string_view text)
{
    std::string kept;
    kept.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint character = codePointAt(text, at);
        if (!isMark(character.value))
            kept.append(text.substr(at, character.length));
        at += character.length;
    }
    return kept;
}

} // namespace kvscope
