#include "engine/lab/number_match.h"

#include <algorithm>
#include <cstddef>

namespace kvscope {
namespace {

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

bool isWord(char c)
{
    return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// The end of the digits from `begin`.
std::size_t digitsEnd(std::string_view text, std::size_t begin)
{
    while (begin < text.size() && isDigit(text[begin]))
        ++begin;
    return begin;
}

/// Whether a comma and a group of exactly three digits stand at `at`.
bool isGroup(std::string_view text, std::size_t at)
{
    return at < text.size() && text[at] == ',' && digitsEnd(text, at + 1) == at + 4;
}

/// The end of the number whose first digit is at `begin`.
std::size_t numberEnd(std::string_view text, std::size_t begin)
{
    std::size_t end = digitsEnd(text, begin);
    if (end - begin <= 3)
        while (isGroup(text, end))
            end += 4;
    if (end < text.size() && text[end] == '.' && digitsEnd(text, end + 1) > end + 1)
        end = digitsEnd(text, end + 1);
    return end;
}

bool isLetter(char c)
{
    return isWord(c) && !isDigit(c) && c != '_';
}

/// Whether what stands right behind a number makes it part of a word: an ordinal ("7th"), or "_".
/// Other letters are a unit ("375g").
bool endsInWord(std::string_view text, std::size_t end)
{
    if (end >= text.size() || !isWord(text[end]))
        return false;
    if (!isLetter(text[end]))
        return true;
    std::size_t last = end;
    while (last < text.size() && isLetter(text[last]))
        ++last;
    const std::string_view letters = text.substr(end, last - end);
    return letters == "st" || letters == "nd" || letters == "rd" || letters == "th";
}

} // namespace

std::vector<std::string> numbersIn(std::string_view text)
{
    std::vector<std::string> numbers;
    std::size_t at = 0;
    while (at < text.size()) {
        if (!isDigit(text[at])) {
            ++at;
            continue;
        }
        const std::size_t end = numberEnd(text, at);
        const bool isInWord = (at > 0 && isWord(text[at - 1])) || endsInWord(text, end);
        if (!isInWord) {
            std::string number(text.substr(at, end - at));
            number.erase(std::remove(number.begin(), number.end(), ','), number.end());
            numbers.push_back(std::move(number));
        }
        at = end;
    }
    return numbers;
}

bool containsNumber(std::string_view text, std::string_view number)
{
    const auto numbers = numbersIn(text);
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

} // namespace kvscope
