#include "engine/tokenizer/jinja/arguments.h"
#include "engine/tokenizer/jinja/arithmetic.h"
#include "engine/tokenizer/jinja/filters.h"
#include "engine/tokenizer/jinja/subscript.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/unicode_text.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>

namespace kvscope::jinja {
namespace {

Value standard(Run&, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("default", arguments, {"default_value", "boolean"});
    if (!subject.isUndefined() && (!bound.isTrue(1) || subject.isTrue()))
        return subject;
    return bound.find(0) == nullptr ? Value::text("") : *bound.find(0);
}

Value attribute(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("attr", arguments, {"name"});
    if (subject.asDict() != nullptr &&
        subject.asDict()->find(run.budget, std::string_view(bound.text(0))) != nullptr)
        return Value::undefined("'dict' has no attribute '" + bound.text(0) + "'");
    return attributeOf(run, subject, bound.text(0));
}

Value absolute(Run&, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("abs", arguments, {});
    if (!subject.isNumber())
        fail("'abs' needs a number");
    if (subject.isFloat())
        return Value::real(std::abs(*subject.asNumber()));
    return *subject.asInteger() < 0 ? negated(subject) : unchanged(subject);
}

std::optional<double> parsedFloat(std::string text)
{
    text = std::string(stripped(text, Sides::Both));
    std::erase(text, '_');
    std::string_view digits = text;
    if (digits.starts_with('+'))
        digits.remove_prefix(1);
    double value = 0.0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || end.ptr != digits.data() + digits.size())
        return std::nullopt;
    if (end.ec == std::errc::result_out_of_range) // as Python: infinite, or zero
        return std::strtod(text.c_str(), nullptr);
    return value;
}

std::optional<std::int64_t> truncated(double value)
{
    if (!(std::abs(value) < 9.2e18)) // infinite, not a number, or too large for 64 bits
        return std::nullopt;
    return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> parsedInteger(const std::string& text, int base)
{
    std::string digits(stripped(text, Sides::Both));
    const bool isNegative = digits.starts_with('-');
    if (isNegative || digits.starts_with('+'))
        digits.erase(0, 1);
    const char prefix = base == 16 ? 'x' : base == 8 ? 'o' : base == 2 ? 'b' : '\0';
    if (prefix != '\0' && digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == prefix)
        digits.erase(0, 2);
    std::erase(digits, '_');
    if (digits.starts_with('-'))
        return std::nullopt;
    std::int64_t value = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (digits.empty() || end.ptr != digits.data() + digits.size())
        return std::nullopt;
    if (end.ec == std::errc::result_out_of_range)
        fail("a whole number goes beyond 64 bits");
    return isNegative ? -value : value;
}

Value toInteger(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("int", arguments, {"default", "base"});
    const Value otherwise = bound.find(0) == nullptr ? Value::integer(0) : *bound.find(0);
    const auto base = bound.integerOr(1, 10);
    if (base < 2 || base > 36)
        fail("'int' needs a base from 2 to 36");
    std::optional<double> number = subject.asNumber();
    if (const auto* text = subject.asText()) {
        run.budget.scan(text->size());
        if (const auto value = parsedInteger(*text, static_cast<int>(base)))
            return Value::integer(*value);
        number = parsedFloat(*text);
    } else if (const auto value = subject.asInteger()) {
        return Value::integer(*value);
    } else if (subject.isUndefined()) {
        fail(subject.undefinedHint());
    }
    const auto whole = number ? truncated(*number) : std::nullopt;
    return whole ? Value::integer(*whole) : otherwise;
}

Value toFloat(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("float", arguments, {"default"});
    const Value otherwise = bound.find(0) == nullptr ? Value::real(0.0) : *bound.find(0);
    if (subject.isUndefined())
        fail(subject.undefinedHint());
    std::optional<double> number = subject.asNumber();
    if (const auto* text = subject.asText()) {
        run.budget.scan(text->size());
        number = parsedFloat(*text);
    }
    return number ? Value::real(*number) : otherwise;
}

/// Correctly rounded in decimal, as Python's round.
double roundedTo(double value, std::int64_t digits)
{
    if (digits >= 0) {
        std::array<char, 400> buffer{};
        const auto end = std::to_chars(buffer.begin(), buffer.end(), value,
                                       std::chars_format::fixed, static_cast<int>(digits));
        double result = value;
        std::from_chars(buffer.begin(), end.ptr, result);
        return result;
    }
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / unit) * unit;
}

Value round(Run&, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("round", arguments, {"precision", "method"});
    const auto digits = bound.integerOr(0, 0);
    const std::string method = bound.find(1) == nullptr ? "common" : bound.text(1);
    if (!subject.isNumber() || std::abs(static_cast<double>(digits)) > 30)
        fail("'round' needs a number and a precision that it has");
    if (method == "common") {
        if (!subject.isFloat() && digits >= 0)
            return unchanged(subject);
        const double result = std::isfinite(*subject.asNumber())
                                  ? roundedTo(*subject.asNumber(), digits)
                                  : *subject.asNumber();
        const auto whole = subject.isFloat() ? std::nullopt : truncated(result);
        return whole ? Value::integer(*whole) : Value::real(result);
    }
    if (method != "ceil" && method != "floor")
        fail("'round' knows the methods 'common', 'ceil' and 'floor'");
    const double unit = std::pow(10.0, static_cast<double>(digits));
    const double scaled = *subject.asNumber() * unit;
    return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

/// As chat templates have it: json.dumps, not Jinja's own form for HTML.
Value toJson(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("tojson", arguments,
                               {"ensure_ascii", "indent", "separators", "sort_keys"});
    JsonStyle style;
    style.isAscii = bound.isTrue(0);
    style.sortsKeys = bound.isTrue(3);
    if (const Value* indent = bound.find(1); indent != nullptr && !indent->isNone()) {
        style.hasIndent = true;
        const auto width = indent->isText() ? 0 : bound.integerOr(1, 0);
        if (width > 1000)
            fail("'tojson' is asked for too wide an indent");
        style.indent =
            indent->isText()
                ? *indent->asText()
                : std::string(static_cast<std::size_t>(std::max<std::int64_t>(0, width)), ' ');
    }
    style.comma = style.hasIndent ? "," : ", ";
    style.colon = ": ";
    if (const Value* separators = bound.find(2); separators != nullptr && !separators->isNone()) {
        const auto* pair = separators->asSequence();
        if (pair == nullptr || pair->items.size() != 2 || !pair->items[0].isText() ||
            !pair->items[1].isText())
            fail("'tojson' needs two separators");
        style.comma = *pair->items[0].asText();
        style.colon = *pair->items[1].asText();
    }
    TextBuilder out(run.budget);
    addJson(out, subject, style);
    return out.takeValue();
}

} // namespace

Filter findValueFilter(std::string_view name)
{
    static const std::unordered_map<std::string_view, Filter> kFilters = {
        {"default", &standard}, {"d", &standard},    {"attr", &attribute}, {"abs", &absolute},
        {"int", &toInteger},    {"float", &toFloat}, {"round", &round},    {"tojson", &toJson},
    };
    const auto found = kFilters.find(name);
    return found == kFilters.end() ? nullptr : found->second;
}

Value applyFilter(Run& run, std::string_view name, const Value& subject, const Arguments& arguments)
{
    run.budget.step();
    const DepthGuard guard(run.budget); // map('map', 'map', ...) applies filters in filters
    for (const auto find :
         {&findTextFilter, &findSequenceFilter, &findSelectionFilter, &findValueFilter}) {
        if (const Filter filter = find(name))
            return filter(run, subject, arguments);
    }
    throw TemplateError(TemplateError::Reason::Syntax,
                        "the filter '" + std::string(name) + "' is not known here");
}

} // namespace kvscope::jinja
