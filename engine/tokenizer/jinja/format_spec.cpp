#include "engine/tokenizer/jinja/format_spec.h"

#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/text_operations.h"
#include "engine/tokenizer/jinja/unicode_text.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace kvscope::jinja {
namespace {

constexpr std::int64_t kWidest = 100'000;
constexpr std::int64_t kMostPrecise = 60;

bool isAlign(char c)
{
    return c == '<' || c == '>' || c == '^' || c == '=';
}

std::string digitsOf(std::uint64_t magnitude, char type)
{
    const int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
    std::array<char, 70> buffer{};
    const auto end = std::to_chars(buffer.begin(), buffer.end(), magnitude, base);
    std::string digits(buffer.begin(), end.ptr);
    return type == 'X' ? upperCase(digits) : digits;
}

std::string floatDigits(double magnitude, char type, std::int64_t precision)
{
    if (std::isnan(magnitude) || std::isinf(magnitude))
        return std::isnan(magnitude) ? "nan" : "inf";
    const auto format = type == 'e'   ? std::chars_format::scientific
                        : type == 'g' ? std::chars_format::general
                                      : std::chars_format::fixed;
    std::array<char, 400> buffer{};
    const auto end =
        std::to_chars(buffer.begin(), buffer.end(), magnitude, format, static_cast<int>(precision));
    return {buffer.begin(), end.ptr};
}

void addCommas(std::string& digits)
{
    const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    for (std::size_t at = whole; at > 3; at -= 3)
        digits.insert(at - 3, ",");
}

std::string signOf(bool isNegative, char sign)
{
    if (isNegative)
        return "-";
    return sign == '-' ? "" : std::string(1, sign);
}

/// Sign and digits of a number in the wanted form.
std::pair<std::string, std::string> numberParts(const FormatSpec& spec, const Value& value)
{
    const bool isFloatType = spec.type == 'f' || spec.type == 'F' || spec.type == 'e' ||
                             spec.type == 'g' || spec.type == '%';
    if (!value.isFloat() && !isFloatType) {
        const std::int64_t number = *value.asInteger();
        const auto bits = static_cast<std::uint64_t>(number);
        return {signOf(number < 0, spec.sign),
                digitsOf(number < 0 ? std::uint64_t{0} - bits : bits, spec.type)};
    }
    const double number = *value.asNumber() * (spec.type == '%' ? 100.0 : 1.0);
    const double magnitude = std::abs(number);
    const std::string sign = signOf(std::signbit(number), spec.sign);
    if (!isFloatType && spec.type != '\0')
        fail("a float cannot be written as a whole number");
    if (spec.type == '\0' && !spec.precision)
        return {sign, floatText(magnitude)};
    const char type = spec.type == '\0'                      ? 'g'
                      : spec.type == '%' || spec.type == 'F' ? 'f'
                                                             : spec.type;
    return {sign, floatDigits(magnitude, type, spec.precision.value_or(6)) +
                      (spec.type == '%' ? "%" : "")};
}

Value aligned(Run& run, const FormatSpec& spec, std::string_view text, char standard)
{
    const char align = spec.align == '\0' ? standard : spec.align;
    if (align != '^')
        return padded(run, text, spec.width, spec.fill, align == '<' ? Align::Left : Align::Right);
    // str.format puts the odd one to the right, unlike str.center.
    const auto length = static_cast<std::int64_t>(countCharacters(text));
    const std::int64_t left = std::max<std::int64_t>(0, spec.width - length) / 2;
    const Value half = padded(run, text, length + left, spec.fill, Align::Right);
    return padded(run, *half.asText(), spec.width, spec.fill, Align::Left);
}

Value formattedText(Run& run, const FormatSpec& spec, const std::string& text)
{
    if (spec.type != '\0' && spec.type != 's')
        fail(std::string("a text cannot be written as '") + spec.type + "'");
    if (!spec.precision)
        return aligned(run, spec, text, '<');
    std::size_t end = 0;
    for (std::int64_t i = 0; i < *spec.precision && end < text.size(); ++i)
        end += codePointAt(text, end).bytes;
    return aligned(run, spec, std::string_view(text).substr(0, end), '<');
}

} // namespace

std::int64_t takeNumber(std::string_view text, std::size_t& at)
{
    std::int64_t number = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
        number = number * 10 + (text[at] - '0');
        if (number > kWidest)
            fail("a format asks for too many characters");
    }
    return number;
}

FormatSpec parseFormatSpec(std::string_view text)
{
    FormatSpec spec;
    std::size_t at = 0;
    const std::size_t first = text.empty() ? 0 : codePointAt(text, 0).bytes;
    if (first < text.size() && isAlign(text[first])) {
        spec.fill = text.substr(0, first);
        spec.align = text[first];
        at = first + 1;
    } else if (!text.empty() && isAlign(text[0])) {
        spec.align = text[at++];
    }
    if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' '))
        spec.sign = text[at++];
    if (at < text.size() && text[at] == '0') {
        spec.fill = "0";
        spec.align = spec.align == '\0' ? '=' : spec.align;
        ++at;
    }
    spec.width = takeNumber(text, at);
    if (at < text.size() && text[at] == ',')
        spec.hasCommas = ++at > 0;
    if (at < text.size() && text[at] == '.')
        spec.precision = takeNumber(text, ++at);
    if (at < text.size())
        spec.type = text[at++];
    if (at < text.size())
        fail("the format '" + std::string(text) + "' is not read here");
    return spec;
}

Value formatted(Run& run, const FormatSpec& spec, const Value& value)
{
    if (spec.precision.value_or(0) > kMostPrecise && value.isNumber())
        fail("a format asks for too many digits");
    const bool isBooleanText = value.isBoolean() && (spec.type == '\0' || spec.type == 's');
    if (!value.isNumber() || isBooleanText)
        return formattedText(run, spec, toText(run.budget, value));
    constexpr std::string_view kTypes = "dfFeg%xXobn";
    if (spec.type != '\0' && kTypes.find(spec.type) == kTypes.npos)
        fail(std::string("a number cannot be written as '") + spec.type + "'");
    auto [sign, digits] = numberParts(spec, value);
    if (spec.hasCommas)
        addCommas(digits);
    if (spec.align != '=')
        return aligned(run, spec, sign + digits, '>');
    const Value filled = padded(run, digits, spec.width - static_cast<std::int64_t>(sign.size()),
                                spec.fill, Align::Right);
    run.budget.bytes(filled.asText()->size());
    return Value::text(sign + *filled.asText());
}

} // namespace kvscope::jinja
