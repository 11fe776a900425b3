#include "engine/tokenizer/jinja/arguments.h"
#include "engine/tokenizer/jinja/format_text.h"
#include "engine/tokenizer/jinja/methods.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/text_operations.h"
#include "engine/tokenizer/jinja/unicode_text.h"
#include "engine/tokenizer/jinja/value_compare.h"

#include <algorithm>
#include <unordered_map>

namespace kvscope::jinja {
namespace {

const std::string& textOf(const Value& subject)
{
    return *subject.asText();
}

template <Sides sides>
Value strip(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("strip", arguments, {"chars"});
    return strippedText(run, textOf(subject), sides, bound.find(0));
}

template <SplitFrom from>
Value split(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("split", arguments, {"sep", "maxsplit"});
    std::optional<std::string_view> separator;
    if (bound.find(0) != nullptr && !bound.find(0)->isNone())
        separator = bound.text(0);
    return splitText(run, textOf(subject), separator, bound.integerOr(1, -1), from);
}

Value splitIntoLines(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("splitlines", arguments, {"keepends"});
    if (bound.isTrue(0))
        fail("'splitlines' with its breaks kept is not read here");
    run.budget.bytes(textOf(subject).size());
    const auto lines = splitLines(textOf(subject));
    run.budget.items(2 * lines.size());
    std::vector<Value> items;
    for (const auto line : lines)
        items.push_back(Value::text(std::string(line)));
    return Value::list(std::move(items));
}

Value replace(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("replace", arguments, {"old", "new", "count"});
    return replaced(run, textOf(subject), bound.text(0), bound.text(1), bound.integerOr(2, -1));
}

Value join(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("join", arguments, {"iterable"});
    const auto items = iterated(run.budget, bound.at(0));
    if (!std::ranges::all_of(items, &Value::isText))
        fail("'join' needs texts only");
    return joinedTexts(run, textOf(subject), items);
}

/// The part of a text that `find(sub, start, end)` and its like look at.
struct Part
{
    std::string_view text;
    std::int64_t begin = 0; ///< in characters
    bool isInside = true;   ///< false: `start` lies behind the end, where not even "" is
};

Part partOf(Run& run, const std::string& text, const BoundArguments& bound)
{
    run.budget.scan(text.size());
    if (bound.find(1) == nullptr && bound.find(2) == nullptr)
        return {text, 0, true};
    const std::size_t length = countCharacters(text);
    const SliceRange range = sliceRange(bound.integer(1), bound.integer(2), 1, length);
    std::size_t begin = 0;
    for (std::int64_t i = 0; i < range.start; ++i)
        begin += codePointAt(text, begin).bytes;
    std::size_t end = begin;
    for (std::size_t i = 0; i < range.count; ++i)
        end += codePointAt(text, end).bytes;
    const bool isInside = bound.integer(1).value_or(0) <= static_cast<std::int64_t>(length);
    return {std::string_view(text).substr(begin, end - begin), range.start, isInside};
}

std::int64_t positionIn(const Part& part, std::size_t byte)
{
    return part.begin + static_cast<std::int64_t>(countCharacters(part.text.substr(0, byte)));
}

Value find(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("find", arguments, {"sub", "start", "end"});
    const Part part = partOf(run, textOf(subject), bound);
    const std::size_t at = findText(part.text, bound.text(0));
    return Value::integer(at == part.text.npos || !part.isInside ? -1 : positionIn(part, at));
}

Value findLast(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("rfind", arguments, {"sub", "start", "end"});
    const Part part = partOf(run, textOf(subject), bound);
    run.budget.bytes(part.text.size());
    if (bound.text(0).empty())
        return Value::integer(positionIn(part, part.text.size()));
    const auto found = findFromRight(part.text, bound.text(0), 1);
    return Value::integer(found.empty() ? -1 : positionIn(part, found.front()));
}

template <auto search>
Value require(Run& run, const Value& subject, const Arguments& arguments)
{
    Value found = search(run, subject, arguments);
    if (found.asInteger() == -1)
        fail("the text that 'index' looks for is not there");
    return found;
}

Value count(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("count", arguments, {"sub", "start", "end"});
    const Part part = partOf(run, textOf(subject), bound);
    const std::string& wanted = bound.text(0);
    if (wanted.empty())
        return Value::integer(static_cast<std::int64_t>(countCharacters(part.text)) + 1);
    std::int64_t total = 0;
    for (std::size_t at = findText(part.text, wanted); at != part.text.npos;
         at = findText(part.text, wanted, at + wanted.size())) {
        run.budget.step();
        ++total;
    }
    return Value::integer(total);
}

enum class Side { Start, End };

bool hasAt(Side side, std::string_view text, const Value& affix)
{
    const auto* wanted = affix.asText();
    if (wanted == nullptr)
        fail("'startswith' and 'endswith' need a text or a tuple of texts");
    return side == Side::Start ? text.starts_with(*wanted) : text.ends_with(*wanted);
}

template <Side side>
Value startsOrEnds(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("startswith", arguments, {"prefix", "start", "end"});
    const std::string_view text = partOf(run, textOf(subject), bound).text;
    const auto* several = bound.at(0).asSequence();
    if (several == nullptr || several->kind != Sequence::Kind::Tuple)
        return Value::boolean(hasAt(side, text, bound.at(0)));
    return Value::boolean(std::ranges::any_of(several->items, [&](const Value& affix) {
        run.budget.step();
        return hasAt(side, text, affix);
    }));
}

template <Side side>
Value removeAffix(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("removeprefix", arguments, {"prefix"});
    std::string_view text = textOf(subject);
    run.budget.bytes(text.size());
    if (hasAt(side, text, bound.at(0))) {
        const std::size_t size = bound.text(0).size();
        side == Side::Start ? text.remove_prefix(size) : text.remove_suffix(size);
    }
    return Value::text(std::string(text));
}

template <Side side>
Value partition(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("partition", arguments, {"sep"});
    const std::string& text = textOf(subject);
    const std::string& separator = bound.text(0);
    if (separator.empty())
        fail("a text cannot be split at an empty separator");
    run.budget.bytes(2 * text.size() + 200);
    const auto last = side == Side::End ? findFromRight(text, separator, 1)
                                        : std::vector<std::size_t>{findText(text, separator)};
    const auto part = [](std::string_view some) { return Value::text(std::string(some)); };
    if (last.empty() || last.front() == text.npos) {
        return side == Side::Start ? Value::tuple({subject, part(""), part("")})
                                   : Value::tuple({part(""), part(""), subject});
    }
    return Value::tuple({part(text.substr(0, last.front())), part(separator),
                         part(text.substr(last.front() + separator.size()))});
}

template <Value (*operation)(Run&, std::string_view)>
Value simple(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("the text's method", arguments, {});
    return operation(run, textOf(subject));
}

template <Align align>
Value pad(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("center", arguments, {"width", "fillchar"});
    bound.at(0);
    const std::string fill = bound.find(1) == nullptr ? " " : bound.text(1);
    if (countCharacters(fill) != 1)
        fail("a text is filled up with one character");
    return padded(run, textOf(subject), bound.integerOr(0, 0), fill, align);
}

Value zeroFill(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("zfill", arguments, {"width"});
    bound.at(0);
    std::string_view text = textOf(subject);
    const bool hasSign = text.starts_with('+') || text.starts_with('-');
    const std::string sign(text.substr(0, hasSign ? 1 : 0));
    text.remove_prefix(sign.size());
    const auto width = bound.integerOr(0, 0);
    const Value digits =
        padded(run, text, hasSign && width > 0 ? width - 1 : width, "0", Align::Right);
    run.budget.bytes(digits.asText()->size());
    return Value::text(sign + *digits.asText());
}

template <bool (*isWanted)(char32_t)>
Value isAll(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("the text's method", arguments, {});
    const std::string& text = textOf(subject);
    run.budget.scan(4 * text.size());
    bool isTrue = !text.empty();
    for (std::size_t at = 0; at < text.size() && isTrue;) {
        const CodePoint c = codePointAt(text, at);
        isTrue = isWanted(c.value);
        at += c.bytes;
    }
    return Value::boolean(isTrue);
}

bool isLetterOrDigit(char32_t c)
{
    return isLetter(c) || isDecimal(c);
}

template <bool isUpperWanted>
Value isCased(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("the text's method", arguments, {});
    return Value::boolean(hasOnlyCase(run, textOf(subject), isUpperWanted));
}

Value format(Run& run, const Value& subject, const Arguments& arguments)
{
    return formatBraces(run, textOf(subject), arguments);
}

} // namespace

bool hasOnlyCase(Run& run, const std::string& text, bool isUpperWanted)
{
    run.budget.scan(4 * text.size());
    bool isAny = false;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = codePointAt(text, at);
        if (isUpperWanted ? isLower(c.value) : isUpper(c.value))
            return false;
        isAny |= isUpperWanted ? isUpper(c.value) : isLower(c.value);
        at += c.bytes;
    }
    return isAny;
}

Method findTextMethod(std::string_view name)
{
    static const std::unordered_map<std::string_view, Method> kMethods = {
        {"strip", &strip<Sides::Both>},
        {"lstrip", &strip<Sides::Left>},
        {"rstrip", &strip<Sides::Right>},
        {"split", &split<SplitFrom::Left>},
        {"rsplit", &split<SplitFrom::Right>},
        {"splitlines", &splitIntoLines},
        {"replace", &replace},
        {"join", &join},
        {"find", &find},
        {"rfind", &findLast},
        {"index", &require<&find>},
        {"rindex", &require<&findLast>},
        {"count", &count},
        {"startswith", &startsOrEnds<Side::Start>},
        {"endswith", &startsOrEnds<Side::End>},
        {"removeprefix", &removeAffix<Side::Start>},
        {"removesuffix", &removeAffix<Side::End>},
        {"partition", &partition<Side::Start>},
        {"rpartition", &partition<Side::End>},
        {"upper", &simple<&upper>},
        {"lower", &simple<&lower>},
        {"casefold", &simple<&lower>},
        {"title", &simple<&titled>},
        {"capitalize", &simple<&capitalized>},
        {"center", &pad<Align::Center>},
        {"ljust", &pad<Align::Left>},
        {"rjust", &pad<Align::Right>},
        {"zfill", &zeroFill},
        {"isdigit", &isAll<&isDecimal>},
        {"isdecimal", &isAll<&isDecimal>},
        {"isnumeric", &isAll<&isDecimal>},
        {"isalpha", &isAll<&isLetter>},
        {"isalnum", &isAll<&isLetterOrDigit>},
        {"isspace", &isAll<&isSpace>},
        {"isupper", &isCased<true>},
        {"islower", &isCased<false>},
        {"format", &format},
    };
    const auto found = kMethods.find(name);
    return found == kMethods.end() ? nullptr : found->second;
}

} // namespace kvscope::jinja
