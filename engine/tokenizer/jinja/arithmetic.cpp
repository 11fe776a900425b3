#include "engine/tokenizer/jinja/arithmetic.h"

#include "engine/tokenizer/jinja/format_text.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/value_compare.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <cmath>
#include <limits>

namespace kvscope::jinja {
namespace {

std::string_view signOf(Operator op)
{
    constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};
    return kSigns[static_cast<std::size_t>(op)];
}

[[noreturn]] void failOperands(Operator op, const Value& left, const Value& right)
{
    for (const Value* side : {&left, &right}) {
        if (side->isUndefined())
            fail(side->undefinedHint());
    }
    fail("'" + std::string(left.typeName()) + "' " + std::string(signOf(op)) + " '" +
         std::string(right.typeName()) + "' cannot be calculated");
}

[[noreturn]] void failSize()
{
    fail("a whole number goes beyond 64 bits");
}

void requireDivisor(bool isZero)
{
    if (isZero)
        fail("something is divided by zero");
}

std::int64_t floorDivided(std::int64_t left, std::int64_t right)
{
    requireDivisor(right == 0);
    if (right == -1 && left == std::numeric_limits<std::int64_t>::min())
        failSize();
    const std::int64_t quotient = left / right;
    return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

/// With the sign of the divisor, as Python has it.
std::int64_t moduloOf(std::int64_t left, std::int64_t right)
{
    requireDivisor(right == 0);
    if (right == -1)
        return 0;
    const std::int64_t rest = left % right;
    return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

double moduloOf(double left, double right)
{
    requireDivisor(right == 0.0);
    const double rest = std::fmod(left, right);
    if (rest == 0.0)
        return std::copysign(0.0, right);
    return (rest < 0) != (right < 0) ? rest + right : rest;
}

Value power(std::int64_t base, std::int64_t exponent)
{
    if (exponent < 0) {
        requireDivisor(base == 0);
        return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    }
    std::int64_t result = 1;
    const bool isTrivial = base == 0 || base == 1 || base == -1;
    std::int64_t left = isTrivial ? (exponent == 0 ? 0 : 2 - exponent % 2) : exponent;
    for (; left > 0; --left) { // at most 63 rounds before it goes beyond
        if (__builtin_mul_overflow(result, base, &result))
            failSize();
    }
    return Value::integer(result);
}

Value calculateIntegers(Operator op, std::int64_t left, std::int64_t right)
{
    std::int64_t result = 0;
    bool isBeyond = false;
    switch (op) {
    case Operator::Add:
        isBeyond = __builtin_add_overflow(left, right, &result);
        break;
    case Operator::Subtract:
        isBeyond = __builtin_sub_overflow(left, right, &result);
        break;
    case Operator::Multiply:
        isBeyond = __builtin_mul_overflow(left, right, &result);
        break;
    case Operator::Divide:
        requireDivisor(right == 0);
        return Value::real(static_cast<double>(left) / static_cast<double>(right));
    case Operator::FloorDivide:
        result = floorDivided(left, right);
        break;
    case Operator::Modulo:
        result = moduloOf(left, right);
        break;
    default:
        return power(left, right);
    }
    if (isBeyond)
        failSize();
    return Value::integer(result);
}

Value calculateFloats(Operator op, double left, double right)
{
    switch (op) {
    case Operator::Add:
        return Value::real(left + right);
    case Operator::Subtract:
        return Value::real(left - right);
    case Operator::Multiply:
        return Value::real(left * right);
    case Operator::Divide:
        requireDivisor(right == 0.0);
        return Value::real(left / right);
    case Operator::FloorDivide:
        requireDivisor(right == 0.0);
        return Value::real(std::floor(left / right));
    case Operator::Modulo:
        return Value::real(moduloOf(left, right));
    default:
        requireDivisor(left == 0.0 && right < 0.0);
        return Value::real(std::pow(left, right));
    }
}

std::uint64_t timesOf(const Value& value)
{
    const std::int64_t times = value.asInteger().value();
    return times < 0 ? 0 : static_cast<std::uint64_t>(times);
}

Value repeated(Run& run, const Value& value, std::uint64_t times)
{
    if (const auto* text = value.asText()) {
        TextBuilder out(run.budget);
        out.addRepeated(*text, times);
        return out.takeValue();
    }
    const Sequence& sequence = *value.asSequence();
    if (sequence.items.empty())
        return value;
    if (times > limits::kBytes)
        run.budget.bytes(static_cast<std::size_t>(-1));
    run.budget.items(sequence.items.size() * times);
    Sequence result;
    result.kind = sequence.kind;
    for (std::uint64_t i = 0; i < times; ++i)
        result.items.insert(result.items.end(), sequence.items.begin(), sequence.items.end());
    return Value::sequence(std::move(result));
}

bool isRepeatable(const Value& value)
{
    const auto* sequence = value.asSequence();
    return value.isText() || (sequence != nullptr && (sequence->kind == Sequence::Kind::List ||
                                                      sequence->kind == Sequence::Kind::Tuple));
}

Value joined(Run& run, const Value& left, const Value& right)
{
    if (left.isText() && right.isText()) {
        const std::string& first = *left.asText();
        const std::string& second = *right.asText();
        run.budget.bytes(first.size() + second.size());
        return Value::text(first + second);
    }
    const auto* first = left.asSequence();
    const auto* second = right.asSequence();
    if (first == nullptr || second == nullptr || first->kind != second->kind || !isRepeatable(left))
        failOperands(Operator::Add, left, right);
    run.budget.items(first->items.size() + second->items.size());
    Sequence result;
    result.kind = first->kind;
    result.items = first->items;
    result.items.insert(result.items.end(), second->items.begin(), second->items.end());
    return Value::sequence(std::move(result));
}

} // namespace

Value calculate(Run& run, Operator op, const Value& left, const Value& right)
{
    if (op == Operator::Add && !left.isNumber())
        return joined(run, left, right);
    if (op == Operator::Modulo && left.isText())
        return formatPercent(run, *left.asText(), right);
    if (left.asInteger() && right.asInteger())
        return calculateIntegers(op, *left.asInteger(), *right.asInteger());
    if (left.isNumber() && right.isNumber())
        return calculateFloats(op, *left.asNumber(), *right.asNumber());
    if (op == Operator::Multiply && isRepeatable(left) && right.asInteger())
        return repeated(run, left, timesOf(right));
    if (op == Operator::Multiply && left.asInteger() && isRepeatable(right))
        return repeated(run, right, timesOf(left));
    failOperands(op, left, right);
}

Value negated(const Value& value)
{
    if (value.isFloat())
        return Value::real(-*value.asNumber());
    if (!value.asInteger())
        failOperands(Operator::Subtract, Value::integer(0), value);
    return calculateIntegers(Operator::Subtract, 0, *value.asInteger());
}

Value unchanged(const Value& value)
{
    if (!value.isNumber())
        failOperands(Operator::Add, Value::integer(0), value);
    return value.isFloat() ? value : Value::integer(*value.asInteger());
}

bool compare(Run& run, Operator op, const Value& left, const Value& right)
{
    switch (op) {
    case Operator::Equal:
        return isEqual(run.budget, left, right);
    case Operator::NotEqual:
        return !isEqual(run.budget, left, right);
    case Operator::Less:
        return isLess(run.budget, left, right);
    case Operator::Greater:
        return isLess(run.budget, right, left);
    case Operator::LessEqual:
        return isLess(run.budget, left, right) || isEqual(run.budget, left, right);
    case Operator::GreaterEqual:
        return isLess(run.budget, right, left) || isEqual(run.budget, left, right);
    case Operator::In:
        return contains(run.budget, right, left);
    default:
        return !contains(run.budget, right, left);
    }
}

} // namespace kvscope::jinja
