#include "engine/tokenizer/jinja/arguments.h"
#include "engine/tokenizer/jinja/filters.h"
#include "engine/tokenizer/jinja/format_text.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/text_operations.h"
#include "engine/tokenizer/jinja/value_compare.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <unordered_map>

namespace kvscope::jinja {
namespace {

Value trim(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("trim", arguments, {"chars"});
    return strippedText(run, toText(run.budget, subject), Sides::Both, bound.find(0));
}

template <Value (*operation)(Run&, std::string_view)>
Value simple(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("the filter", arguments, {});
    return operation(run, toText(run.budget, subject));
}

/// Words begin after spaces and opening brackets; unlike str.title, "it's" stays one.
Value titleWords(Run& run, std::string_view text)
{
    constexpr std::string_view kBreaks = "-({[<";
    run.budget.bytes(2 * text.size());
    run.budget.step(text.size());
    std::string out;
    bool isInWord = false;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = codePointAt(text, at);
        const std::string_view character = text.substr(at, c.bytes);
        out += isInWord ? lowerCase(character) : upperCase(character);
        isInWord = !isSpace(c.value) && kBreaks.find(character) == kBreaks.npos;
        at += c.bytes;
    }
    return Value::text(std::move(out));
}

Value replace(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("replace", arguments, {"old", "new", "count"});
    const auto count = bound.integer(2);
    return replaced(run, toText(run.budget, subject), toText(run.budget, bound.at(0)),
                    toText(run.budget, bound.at(1)), count.value_or(-1));
}

Value string(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("string", arguments, {});
    return subject.isText() ? subject : Value::text(toText(run.budget, subject));
}

Value escape(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("escape", arguments, {});
    const std::string text = toText(run.budget, subject);
    TextBuilder out(run.budget);
    for (const char c : text) {
        out.add(c == '&'    ? "&amp;"
                : c == '<'  ? "&lt;"
                : c == '>'  ? "&gt;"
                : c == '\'' ? "&#39;"
                : c == '"'  ? "&#34;"
                            : std::string_view(&c, 1));
    }
    return out.takeValue();
}

std::string indentOf(const Value* width)
{
    if (width == nullptr)
        return "    ";
    if (const auto* text = width->asText())
        return *text;
    const auto count = width->asInteger().value_or(0);
    if (count > 10'000)
        fail("a text is indented too far");
    return std::string(static_cast<std::size_t>(std::max<std::int64_t>(0, count)), ' ');
}

Value indent(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("indent", arguments, {"width", "first", "blank"});
    const auto* given = subject.asText();
    if (given == nullptr)
        fail("'indent' needs a text");
    run.budget.bytes(2 * given->size());
    const std::string text = *given + "\n"; // so that a last break counts as a line
    const std::string width = indentOf(bound.find(0));
    const auto lines = splitLines(text);
    run.budget.items(lines.size());
    TextBuilder out(run.budget);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        out.add(i > 0 ? "\n" : "");
        const bool isIndented = i == 0 ? bound.isTrue(1) : bound.isTrue(2) || !lines[i].empty();
        out.add(isIndented ? std::string_view(width) : "");
        out.add(lines[i]);
    }
    return out.takeValue();
}

Value center(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("center", arguments, {"width"});
    return padded(run, toText(run.budget, subject), bound.integerOr(0, 80), " ", Align::Center);
}

Value format(Run& run, const Value& subject, const Arguments& arguments)
{
    if (arguments.named.empty())
        return formatPercent(run, toText(run.budget, subject), Value::tuple(arguments.positional));
    Dict named;
    for (const auto& [name, value] : arguments.named)
        named.set(run.budget, name, value);
    return formatPercent(run, toText(run.budget, subject), Value::dict(std::move(named)));
}

Value truncate(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
    const auto* given = subject.asText();
    if (given == nullptr)
        fail("'truncate' needs a text");
    const std::string& text = *given;
    run.budget.bytes(text.size());
    run.budget.scan(text.size());
    const std::string end = bound.find(2) == nullptr ? "..." : bound.text(2);
    const auto length = bound.integerOr(0, 255);
    const auto kept = length - static_cast<std::int64_t>(countCharacters(end));
    if (kept < 0)
        fail("'truncate' is given too small a length");
    const auto leeway = bound.integer(3).value_or(5);
    if (static_cast<std::int64_t>(countCharacters(text)) <= length + leeway)
        return Value::text(text);
    std::size_t bytes = 0;
    for (std::int64_t i = 0; i < kept; ++i)
        bytes += codePointAt(text, bytes).bytes;
    std::string cut = text.substr(0, bytes);
    if (!bound.isTrue(1))
        cut = cut.substr(0, cut.rfind(' '));
    return Value::text(cut + end);
}

Value wordCount(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("wordcount", arguments, {});
    const std::string text = toText(run.budget, subject);
    run.budget.scan(4 * text.size());
    std::int64_t words = 0;
    bool isInWord = false;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = codePointAt(text, at);
        const bool isWord = isLetter(c.value) || isDecimal(c.value) || c.value == '_';
        words += isWord && !isInWord ? 1 : 0;
        isInWord = isWord;
        at += c.bytes;
    }
    return Value::integer(words);
}

} // namespace

Filter findTextFilter(std::string_view name)
{
    static const std::unordered_map<std::string_view, Filter> kFilters = {
        {"trim", &trim},
        {"upper", &simple<&upper>},
        {"lower", &simple<&lower>},
        {"capitalize", &simple<&capitalized>},
        {"title", &simple<&titleWords>},
        {"replace", &replace},
        {"string", &string},
        {"safe", &string},
        {"e", &escape},
        {"escape", &escape},
        {"forceescape", &escape},
        {"indent", &indent},
        {"center", &center},
        {"format", &format},
        {"truncate", &truncate},
        {"wordcount", &wordCount},
    };
    const auto found = kFilters.find(name);
    return found == kFilters.end() ? nullptr : found->second;
}

} // namespace kvscope::jinja
