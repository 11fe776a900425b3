#include "engine/tokenizer/jinja/unicode_text.h"

#include <algorithm>
#include <cstring>
#include <utf8proc.h>

namespace kvscope::jinja {
namespace {

constexpr char32_t kNoCharacter = 0xFFFFFFFF;

utf8proc_category_t categoryOf(char32_t c)
{
    return c > 0x10FFFF ? UTF8PROC_CATEGORY_CN : utf8proc_category(static_cast<std::int32_t>(c));
}

template <typename Predicate>
std::string_view strippedWhere(std::string_view text, Sides sides, Predicate isStripped)
{
    if (sides != Sides::Right) {
        while (!text.empty()) {
            const CodePoint c = codePointAt(text, 0);
            if (!isStripped(text.substr(0, c.bytes)))
                break;
            text.remove_prefix(c.bytes);
        }
    }
    while (sides != Sides::Left && !text.empty()) {
        std::size_t begin = text.size() - 1;
        while (begin > 0 && text.size() - begin < 4 &&
               (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
            --begin;
        if (codePointAt(text, begin).bytes != text.size() - begin)
            begin = text.size() - 1; // not well-formed: a byte alone
        if (!isStripped(text.substr(begin)))
            break;
        text.remove_suffix(text.size() - begin);
    }
    return text;
}

} // namespace

CodePoint codePointAt(std::string_view text, std::size_t at)
{
    const auto first = static_cast<unsigned char>(text[at]);
    if (first < 0x80)
        return {first, 1};
    utf8proc_int32_t value = -1;
    const auto length = static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size() - at, 4));
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at);
    const utf8proc_ssize_t used = utf8proc_iterate(bytes, length, &value);
    if (used <= 0)
        return {kNoCharacter, 1};
    return {static_cast<char32_t>(value), static_cast<std::size_t>(used)};
}

std::vector<std::string_view> characters(std::string_view text)
{
    std::vector<std::string_view> all;
    for (std::size_t at = 0; at < text.size(); at += all.back().size())
        all.push_back(text.substr(at, codePointAt(text, at).bytes));
    return all;
}

std::size_t countCharacters(std::string_view text)
{
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size(); ++count)
        at += codePointAt(text, at).bytes;
    return count;
}

void appendUtf8(std::string& text, char32_t c)
{
    utf8proc_uint8_t bytes[4];
    const auto count = utf8proc_encode_char(static_cast<std::int32_t>(c), bytes);
    text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

bool isSpace(char32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

bool isLineBreak(char32_t c)
{
    return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

bool isPrintable(char32_t c)
{
    if (c < 0x7F)
        return c >= 0x20;
    switch (categoryOf(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    default:
        return true;
    }
}

bool isDecimal(char32_t c)
{
    return categoryOf(c) == UTF8PROC_CATEGORY_ND;
}

bool isLetter(char32_t c)
{
    const auto category = categoryOf(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool isUpper(char32_t c)
{
    return categoryOf(c) == UTF8PROC_CATEGORY_LU;
}

bool isLower(char32_t c)
{
    return categoryOf(c) == UTF8PROC_CATEGORY_LL;
}

namespace {

template <typename Map>
std::string mapped(std::string_view text, Map map)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = codePointAt(text, at);
        if (c.value == kNoCharacter)
            out += text[at];
        else
            map(out, c.value);
        at += c.bytes;
    }
    return out;
}

} // namespace

std::string upperCase(std::string_view text)
{
    return mapped(text, [](std::string& out, char32_t c) {
        if (c == 0xDF)
            out += "SS";
        else
            appendUtf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<int>(c))));
    });
}

std::string lowerCase(std::string_view text)
{
    return mapped(text, [](std::string& out, char32_t c) {
        appendUtf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<int>(c))));
    });
}

std::string_view stripped(std::string_view text, Sides sides)
{
    return strippedWhere(text, sides,
                         [](std::string_view c) { return isSpace(codePointAt(c, 0).value); });
}

std::string_view stripped(std::string_view text, Sides sides, std::string_view set)
{
    auto all = characters(set);
    std::ranges::sort(all);
    return strippedWhere(text, sides,
                         [&](std::string_view c) { return std::ranges::binary_search(all, c); });
}

std::vector<std::string_view> splitLines(std::string_view text)
{
    std::vector<std::string_view> lines;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = codePointAt(text, at);
        const std::size_t end = at;
        at += c.bytes;
        if (!isLineBreak(c.value))
            continue;
        if (c.value == '\r' && at < text.size() && text[at] == '\n')
            ++at;
        lines.push_back(text.substr(begin, end - begin));
        begin = at;
    }
    if (begin < text.size())
        lines.push_back(text.substr(begin));
    return lines;
}

std::size_t findText(std::string_view text, std::string_view needle, std::size_t from)
{
    if (from > text.size())
        return text.npos;
    // Linear for any needle, unlike std::string_view::find.
    const void* found =
        memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
    return found == nullptr
               ? text.npos
               : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::vector<std::size_t> findFromRight(std::string_view text, std::string_view needle,
                                       std::size_t most)
{
    const std::string backwards(text.rbegin(), text.rend());
    const std::string wanted(needle.rbegin(), needle.rend());
    std::vector<std::size_t> begins;
    std::size_t from = 0;
    while (begins.size() < most && !needle.empty()) {
        const std::size_t at = findText(backwards, wanted, from);
        if (at == text.npos)
            break;
        from = at + wanted.size();
        begins.push_back(text.size() - from);
    }
    return begins;
}

SliceRange sliceRange(std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                      std::int64_t step, std::size_t length)
{
    const auto size = static_cast<std::int64_t>(length);
    const std::int64_t lowest = step < 0 ? -1 : 0;
    const std::int64_t highest = step < 0 ? size - 1 : size;
    const auto bounded = [&](std::int64_t index) {
        return std::clamp(index < 0 ? index + size : index, lowest, highest);
    };
    const std::int64_t from = start ? bounded(*start) : step < 0 ? highest : lowest;
    const std::int64_t to = stop ? bounded(*stop) : step < 0 ? lowest : highest;
    const std::int64_t distance = step < 0 ? from - to : to - from;
    // The magnitude of the smallest number does not fit into its type.
    const std::uint64_t stride = step < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(step)
                                          : static_cast<std::uint64_t>(step);
    SliceRange range{from, step, 0};
    if (distance > 0)
        range.count = (static_cast<std::uint64_t>(distance) - 1) / stride + 1;
    return range;
}

} // namespace kvscope::jinja
