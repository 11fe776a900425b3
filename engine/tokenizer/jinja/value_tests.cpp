#include "engine/tokenizer/jinja/arguments.h"
#include "engine/tokenizer/jinja/arithmetic.h"
#include "engine/tokenizer/jinja/filters.h"
#include "engine/tokenizer/jinja/methods.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <algorithm>
#include <unordered_map>

namespace kvscope::jinja {
namespace {

/// Of what is asked without arguments.
using TypeTest = bool (*)(const Value& value);
using Test = bool (*)(Run& run, const Value& subject, const Arguments& arguments);

bool isSequence(const Value& value)
{
    const auto* sequence = value.asSequence();
    return value.isText() || value.asDict() != nullptr || value.isUndefined() ||
           (sequence != nullptr && sequence->isIndexed());
}

bool isIterable(const Value& value)
{
    return isSequence(value) || value.asSequence() != nullptr;
}

bool isCallable(const Value& value)
{
    return value.asObject() != nullptr && value.asObject()->isCallable();
}

template <Operator op>
bool compared(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("the test", arguments, {"other"});
    return compare(run, op, subject, bound.at(0));
}

/// Whether the rest by `divisor` is `rest`.
bool hasRest(Run& run, const Value& subject, const Value& divisor, std::int64_t rest)
{
    const Value modulo = calculate(run, Operator::Modulo, subject, divisor);
    return compare(run, Operator::Equal, modulo, Value::integer(rest));
}

template <std::int64_t rest>
bool isParity(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("the test", arguments, {});
    return hasRest(run, subject, Value::integer(2), rest);
}

bool isDivisible(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("divisibleby", arguments, {"num"});
    return hasRest(run, subject, bound.at(0), 0);
}

bool isSameAs(Run&, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("sameas", arguments, {"other"});
    return subject.isSameObject(bound.at(0));
}

template <bool isUpperWanted>
bool isCased(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("the test", arguments, {});
    return hasOnlyCase(run, toText(run.budget, subject), isUpperWanted);
}

bool isFilterName(Run&, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("filter", arguments, {});
    const auto* name = subject.asText();
    return name != nullptr && (findTextFilter(*name) != nullptr || findSequenceFilter(*name) ||
                               findSelectionFilter(*name) || findValueFilter(*name));
}

TypeTest findTypeTest(std::string_view name)
{
    static const std::unordered_map<std::string_view, TypeTest> kTests = {
        {"defined", [](const Value& v) { return !v.isUndefined(); }},
        {"undefined", [](const Value& v) { return v.isUndefined(); }},
        {"none", [](const Value& v) { return v.isNone(); }},
        {"boolean", [](const Value& v) { return v.isBoolean(); }},
        {"true", [](const Value& v) { return v.isBoolean() && v.isTrue(); }},
        {"false", [](const Value& v) { return v.isBoolean() && !v.isTrue(); }},
        {"string", [](const Value& v) { return v.isText(); }},
        {"mapping", [](const Value& v) { return v.asDict() != nullptr; }},
        {"number", [](const Value& v) { return v.isNumber(); }},
        {"integer", [](const Value& v) { return v.asInteger().has_value() && !v.isBoolean(); }},
        {"float", [](const Value& v) { return v.isFloat(); }},
        {"escaped", [](const Value&) { return false; }},
        {"sequence", &isSequence},
        {"iterable", &isIterable},
        {"callable", &isCallable},
    };
    const auto found = kTests.find(name);
    return found == kTests.end() ? nullptr : found->second;
}

Test findComparingTest(std::string_view name)
{
    static const std::unordered_map<std::string_view, Test> kTests = {
        {"equalto", &compared<Operator::Equal>},
        {"eq", &compared<Operator::Equal>},
        {"==", &compared<Operator::Equal>},
        {"ne", &compared<Operator::NotEqual>},
        {"!=", &compared<Operator::NotEqual>},
        {"lt", &compared<Operator::Less>},
        {"lessthan", &compared<Operator::Less>},
        {"<", &compared<Operator::Less>},
        {"le", &compared<Operator::LessEqual>},
        {"<=", &compared<Operator::LessEqual>},
        {"gt", &compared<Operator::Greater>},
        {"greaterthan", &compared<Operator::Greater>},
        {">", &compared<Operator::Greater>},
        {"ge", &compared<Operator::GreaterEqual>},
        {">=", &compared<Operator::GreaterEqual>},
        {"in", &compared<Operator::In>},
        {"even", &isParity<0>},
        {"odd", &isParity<1>},
        {"divisibleby", &isDivisible},
        {"sameas", &isSameAs},
        {"upper", &isCased<true>},
        {"lower", &isCased<false>},
        {"filter", &isFilterName},
    };
    const auto found = kTests.find(name);
    return found == kTests.end() ? nullptr : found->second;
}

} // namespace

bool applyTest(Run& run, std::string_view name, const Value& subject, const Arguments& arguments)
{
    run.budget.step();
    if (const TypeTest isWanted = findTypeTest(name)) {
        const BoundArguments bound(name, arguments, {});
        return isWanted(subject);
    }
    const Test test = findComparingTest(name);
    if (test == nullptr)
        throw TemplateError(TemplateError::Reason::Syntax,
                            "the test '" + std::string(name) + "' is not known here");
    return test(run, subject, arguments);
}

} // namespace kvscope::jinja
