#include "engine/tokenizer/jinja/string_literal.h"

#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/unicode_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace kvscope::jinja {
namespace {

bool isDigitOf(char c, int base)
{
    if (c >= '0' && c <= '9')
        return c - '0' < base;
    const char lower = static_cast<char>(c | 0x20);
    return base == 16 && lower >= 'a' && lower <= 'f';
}

class Unescaper
{
public:
    explicit Unescaper(std::string_view literal)
        : m_rest(literal)
    {
    }

    std::string read()
    {
        while (!m_rest.empty()) {
            const std::size_t escape = std::min(m_rest.find('\\'), m_rest.size());
            m_text.append(m_rest.substr(0, escape));
            m_rest.remove_prefix(escape);
            if (!m_rest.empty())
                readEscape();
        }
        return std::move(m_text);
    }

private:
    void readEscape()
    {
        constexpr std::string_view kNames = "\\'\"abfnrtv";
        constexpr std::string_view kValues = "\\'\"\a\b\f\n\r\t\v";
        const char c = m_rest.size() > 1 ? m_rest[1] : '\0';
        m_rest.remove_prefix(std::min<std::size_t>(2, m_rest.size()));
        if (c == '\n')
            return; // a line that goes on
        if (const std::size_t known = kNames.find(c); known != kNames.npos)
            m_text += kValues[known];
        else if (c >= '0' && c <= '7')
            readOctal(c);
        else if (c == 'x' || c == 'u' || c == 'U')
            appendCodePoint(readHex(c == 'x' ? 2 : c == 'u' ? 4 : 8));
        else if (c == 'N')
            fail("a character by its name (\\N) is not read here");
        else
            m_text.append("\\").append(1, c);
    }

    void readOctal(char first)
    {
        auto value = static_cast<char32_t>(first - '0');
        for (int i = 0; i < 2 && !m_rest.empty() && isDigitOf(m_rest.front(), 8); ++i) {
            value = value * 8 + static_cast<char32_t>(m_rest.front() - '0');
            m_rest.remove_prefix(1);
        }
        appendUtf8(m_text, value);
    }

    char32_t readHex(std::size_t digits)
    {
        std::uint32_t value = 0;
        const std::string_view text = m_rest.substr(0, digits);
        const auto end = std::from_chars(text.data(), text.data() + text.size(), value, 16);
        if (text.size() < digits || end.ptr != text.data() + digits)
            fail("an escape (\\x, \\u) is cut off");
        m_rest.remove_prefix(digits);
        return value;
    }

    void appendCodePoint(char32_t c)
    {
        const bool isHigh = c >= 0xD800 && c < 0xDC00;
        if (isHigh && m_rest.starts_with("\\u")) {
            m_rest.remove_prefix(2);
            const char32_t low = readHex(4);
            if (low < 0xDC00 || low > 0xDFFF)
                fail("an escape is half a character");
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        }
        if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
            fail("an escape is no character");
        appendUtf8(m_text, c);
    }

    std::string_view m_rest;
    std::string m_text;
};

/// Length of digits of `base` from `at` on, single underscores between them included.
std::size_t digitsFrom(std::string_view text, std::size_t at, int base)
{
    std::size_t end = at;
    while (end < text.size() && (isDigitOf(text[end], base) ||
                                 (text[end] == '_' && end > at && text[end - 1] != '_' &&
                                  end + 1 < text.size() && isDigitOf(text[end + 1], base))))
        ++end;
    return end - at;
}

std::string withoutUnderscores(std::string_view text)
{
    std::string plain;
    for (const char c : text) {
        if (c != '_')
            plain += c;
    }
    return plain;
}

/// `0x1F`, `0b1`, `0o7`. \return a length of 0 where it is none
NumberLiteral readPrefixed(std::string_view text)
{
    const char letter = text.size() > 2 ? static_cast<char>(text[1] | 0x20) : '\0';
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (text.front() != '0' || base == 0)
        return {};
    const std::size_t begin = text[2] == '_' ? 3 : 2;
    const std::size_t length = digitsFrom(text, begin, base);
    if (length == 0)
        return {};
    const std::string digits = withoutUnderscores(text.substr(begin, length));
    std::int64_t value = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    const bool isWhole = end.ec == std::errc() && end.ptr == digits.data() + digits.size();
    return {false, isWhole ? std::to_string(value) : std::string(30, '9'), begin + length};
}

std::size_t exponentFrom(std::string_view text, std::size_t at)
{
    if (at >= text.size() || (text[at] | 0x20) != 'e')
        return 0;
    const std::size_t sign = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-');
    const std::size_t digits = digitsFrom(text, at + 1 + sign, 10);
    return digits == 0 ? 0 : 1 + sign + digits;
}

} // namespace

std::string unescaped(std::string_view literal)
{
    return Unescaper(literal).read();
}

NumberLiteral readNumberLiteral(std::string_view text, bool isAfterPoint)
{
    if (NumberLiteral prefixed = readPrefixed(text); prefixed.length > 0)
        return prefixed;
    const std::size_t whole = digitsFrom(text, 0, 10);
    std::size_t length = whole;
    if (!isAfterPoint) {
        if (length < text.size() && text[length] == '.') {
            const std::size_t fraction = digitsFrom(text, length + 1, 10);
            length += fraction == 0 ? 0 : 1 + fraction;
        }
        length += exponentFrom(text, length);
    }
    if (length == whole && text.front() == '0') // 007 is 00 and 7, which nothing allows
        length = std::min(text.substr(0, whole).find_first_not_of("0_"), whole);
    return {length > whole, withoutUnderscores(text.substr(0, length)), length};
}

} // namespace kvscope::jinja
