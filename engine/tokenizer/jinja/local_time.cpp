#include "engine/tokenizer/jinja/local_time.h"

#include "engine/tokenizer/jinja/template_error.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace kvscope::jinja {
namespace {

constexpr std::size_t kLongestFormat = 1000;
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

std::string number(int value, int width, char fill)
{
    std::string digits = std::to_string(value);
    const auto wanted = static_cast<std::size_t>(width);
    if (fill != '\0' && digits.size() < wanted)
        digits.insert(0, wanted - digits.size(), fill);
    return digits;
}

std::string nameOf(char directive, const std::tm& time)
{
    const bool isDay = directive == 'a' || directive == 'A';
    const std::string_view name =
        isDay ? kDays[static_cast<std::size_t>(std::clamp(time.tm_wday, 0, 6))]
              : kMonths[static_cast<std::size_t>(std::clamp(time.tm_mon, 0, 11))];
    const bool isShort = directive == 'a' || directive == 'b' || directive == 'h';
    return std::string(isShort ? name.substr(0, 3) : name);
}

struct NumberDirective
{
    char name;
    int value;
    int width;
    char fill;
};

/// The directives that stand for others.
std::string_view longForm(char directive)
{
    switch (directive) {
    case 'c':
        return "%a %b %e %H:%M:%S %Y";
    case 'D':
    case 'x':
        return "%m/%d/%y";
    case 'F':
        return "%Y-%m-%d";
    case 'R':
        return "%H:%M";
    case 'T':
    case 'X':
        return "%H:%M:%S";
    default:
        return {};
    }
}

std::string directiveText(char directive, bool isBare, const std::tm& time)
{
    const int hour = time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12;
    const std::array<NumberDirective, 13> numbers = {{{'d', time.tm_mday, 2, '0'},
                                                      {'e', time.tm_mday, 2, ' '},
                                                      {'H', time.tm_hour, 2, '0'},
                                                      {'I', hour, 2, '0'},
                                                      {'j', time.tm_yday + 1, 3, '0'},
                                                      {'m', time.tm_mon + 1, 2, '0'},
                                                      {'M', time.tm_min, 2, '0'},
                                                      {'S', time.tm_sec, 2, '0'},
                                                      {'f', 0, 6, '0'},
                                                      {'u', (time.tm_wday + 6) % 7 + 1, 1, '0'},
                                                      {'w', time.tm_wday, 1, '0'},
                                                      {'y', (time.tm_year + 1900) % 100, 2, '0'},
                                                      {'Y', time.tm_year + 1900, 1, '0'}}};
    const auto* found = std::ranges::find(numbers, directive, &NumberDirective::name);
    if (found != numbers.end())
        return number(found->value, found->width, isBare ? '\0' : found->fill);
    switch (directive) {
    case 'a':
    case 'A':
    case 'b':
    case 'B':
    case 'h':
        return nameOf(directive, time);
    case 'p':
        return time.tm_hour < 12 ? "AM" : "PM";
    case 'z':
    case 'Z':
        return ""; // as for a time without a zone
    case '%':
        return "%";
    default:
        fail(std::string("the date format '%") + directive + "' is not read here");
    }
}

} // namespace

std::tm localNow()
{
    const std::time_t now = std::time(nullptr);
    std::tm time{};
    localtime_r(&now, &time);
    return time;
}

std::string formatTime(std::string_view format, const std::tm& time)
{
    if (format.size() > kLongestFormat)
        fail("a date format is too long");
    std::string text;
    for (std::size_t at = 0; at < format.size(); ++at) {
        if (format[at] != '%') {
            text += format[at];
            continue;
        }
        const bool isBare = at + 1 < format.size() && format[at + 1] == '-';
        at += isBare ? 2 : 1;
        if (at >= format.size())
            fail("a date format ends in '%'");
        const std::string_view other = longForm(format[at]);
        text += other.empty() ? directiveText(format[at], isBare, time) : formatTime(other, time);
    }
    return text;
}

} // namespace kvscope::jinja
