#include "engine/tokenizer/jinja/text_operations.h"

#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <algorithm>
#include <limits>

namespace kvscope::jinja {
namespace {

std::size_t limitOf(std::int64_t most)
{
    return most < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(most);
}

/// Between all characters and at both ends.
Value interleaved(Run& run, std::string_view text, std::string_view to, std::size_t most)
{
    TextBuilder out(run.budget);
    for (std::size_t at = 0; most > 0; --most) {
        run.budget.step();
        out.add(to);
        if (at == text.size())
            return out.takeValue();
        const std::size_t bytes = codePointAt(text, at).bytes;
        out.add(text.substr(at, bytes));
        text.remove_prefix(bytes);
    }
    out.add(text);
    return out.takeValue();
}

Value listOf(Run& run, const std::vector<std::string_view>& parts)
{
    run.budget.items(2 * parts.size()); // each is a text of its own
    std::vector<Value> items;
    for (const auto part : parts) {
        run.budget.bytes(part.size());
        items.push_back(Value::text(std::string(part)));
    }
    return Value::list(std::move(items));
}

using Parts = std::vector<std::string_view>;

void addPart(Run& run, Parts& parts, std::string_view part)
{
    run.budget.bytes(2 * sizeof part); // the list may have twice the room it needs
    parts.push_back(part);
}

Parts splitAt(Run& run, std::string_view text, std::string_view separator, std::size_t most)
{
    Parts parts;
    std::size_t begin = 0;
    while (parts.size() < most) {
        const std::size_t end = findText(text, separator, begin);
        if (end == text.npos)
            break;
        addPart(run, parts, text.substr(begin, end - begin));
        begin = end + separator.size();
    }
    addPart(run, parts, text.substr(begin));
    return parts;
}

Parts splitAtFromRight(Run& run, std::string_view text, std::string_view separator,
                       std::size_t most)
{
    run.budget.bytes(8 * text.size() / separator.size());
    Parts parts;
    std::size_t end = text.size();
    for (const std::size_t begin : findFromRight(text, separator, most)) {
        const std::size_t after = begin + separator.size();
        addPart(run, parts, text.substr(after, end - after));
        end = begin;
    }
    addPart(run, parts, text.substr(0, end));
    std::ranges::reverse(parts);
    return parts;
}

/// What lies between white space.
Parts words(Run& run, std::string_view text)
{
    Parts parts;
    for (text = stripped(text, Sides::Left); !text.empty(); text = stripped(text, Sides::Left)) {
        std::size_t end = 0;
        for (CodePoint c; end < text.size(); end += c.bytes) {
            c = codePointAt(text, end);
            if (isSpace(c.value))
                break;
        }
        addPart(run, parts, text.substr(0, end));
        text.remove_prefix(end);
    }
    return parts;
}

/// At most `most` words from one side, and what is left as one more.
Parts someWords(Run& run, std::string_view text, std::size_t most, SplitFrom from)
{
    Parts parts = words(run, text);
    if (parts.size() <= most)
        return parts;
    if (from == SplitFrom::Left) {
        const char* begin = parts[most].data();
        parts.resize(most);
        parts.push_back({begin, static_cast<std::size_t>(text.data() + text.size() - begin)});
        return parts;
    }
    const auto last = parts.end() - static_cast<std::ptrdiff_t>(most) - 1;
    const char* end = last->data() + last->size();
    *last = {text.data(), static_cast<std::size_t>(end - text.data())};
    parts.erase(parts.begin(), last);
    return parts;
}

} // namespace

Value replaced(Run& run, std::string_view text, std::string_view from, std::string_view to,
               std::int64_t most)
{
    run.budget.scan(text.size() + from.size());
    std::size_t left = limitOf(most);
    if (from.empty())
        return interleaved(run, text, to, left);
    TextBuilder out(run.budget);
    std::size_t begin = 0;
    for (; left > 0; --left) {
        const std::size_t at = findText(text, from, begin);
        if (at == text.npos)
            break;
        run.budget.step();
        out.add(text.substr(begin, at - begin));
        out.add(to);
        begin = at + from.size();
    }
    out.add(text.substr(begin));
    return out.takeValue();
}

Value splitText(Run& run, std::string_view text, std::optional<std::string_view> separator,
                std::int64_t most, SplitFrom from)
{
    run.budget.bytes(2 * text.size());
    run.budget.scan(text.size());
    const std::size_t limit = limitOf(most);
    if (!separator)
        return listOf(run, someWords(run, text, limit, from));
    if (separator->empty())
        fail("a text cannot be split at an empty separator");
    return listOf(run, from == SplitFrom::Left ? splitAt(run, text, *separator, limit)
                                               : splitAtFromRight(run, text, *separator, limit));
}

Value joinedTexts(Run& run, std::string_view separator, const std::vector<Value>& items)
{
    TextBuilder out(run.budget);
    for (std::size_t i = 0; i < items.size(); ++i) {
        run.budget.step();
        if (i > 0)
            out.add(separator);
        addText(out, items[i]);
    }
    return out.takeValue();
}

Value upper(Run& run, std::string_view text)
{
    run.budget.bytes(2 * text.size()); // a letter's other case may be longer
    run.budget.scan(4 * text.size());
    return Value::text(upperCase(text));
}

Value lower(Run& run, std::string_view text)
{
    run.budget.bytes(2 * text.size());
    run.budget.scan(4 * text.size());
    return Value::text(lowerCase(text));
}

Value capitalized(Run& run, std::string_view text)
{
    run.budget.bytes(2 * text.size());
    run.budget.scan(4 * text.size());
    const std::size_t first = text.empty() ? 0 : codePointAt(text, 0).bytes;
    return Value::text(upperCase(text.substr(0, first)) + lowerCase(text.substr(first)));
}

Value titled(Run& run, std::string_view text)
{
    run.budget.bytes(2 * text.size());
    run.budget.step(text.size());
    std::string out;
    bool isInWord = false;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = codePointAt(text, at);
        const std::string_view character = text.substr(at, c.bytes);
        out += isInWord ? lowerCase(character) : upperCase(character);
        isInWord = isUpper(c.value) || isLower(c.value);
        at += c.bytes;
    }
    return Value::text(std::move(out));
}

Value padded(Run& run, std::string_view text, std::int64_t width, std::string_view fill,
             Align align)
{
    run.budget.scan(text.size());
    const auto length = static_cast<std::int64_t>(countCharacters(text));
    const std::int64_t room = std::max<std::int64_t>(0, width - length);
    // str.center: the odd one goes to the left where the width is odd too.
    const std::int64_t left = align == Align::Left    ? 0
                              : align == Align::Right ? room
                                                      : room / 2 + (room & width & 1);
    TextBuilder out(run.budget);
    out.addRepeated(fill, static_cast<std::uint64_t>(left));
    out.add(text);
    out.addRepeated(fill, static_cast<std::uint64_t>(room - left));
    return out.takeValue();
}

Value strippedText(Run& run, std::string_view text, Sides sides, const Value* set)
{
    run.budget.bytes(text.size());
    if (set == nullptr || set->isNone())
        return Value::text(std::string(stripped(text, sides)));
    const auto* characterSet = set->asText();
    if (characterSet == nullptr)
        fail("what is stripped has to be a text");
    run.budget.bytes(16 * characterSet->size());
    run.budget.scan(text.size() + 8 * characterSet->size());
    return Value::text(std::string(stripped(text, sides, *characterSet)));
}

} // namespace kvscope::jinja
