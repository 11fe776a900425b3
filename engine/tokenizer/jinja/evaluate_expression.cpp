#include "engine/tokenizer/jinja/arithmetic.h"
#include "engine/tokenizer/jinja/evaluator.h"
#include "engine/tokenizer/jinja/subscript.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <utility>

namespace kvscope::jinja {

using Kind = Expression::Kind;

Value Evaluator::evaluate(const Expression& expression)
{
    m_run.budget.step();
    const DepthGuard guard(m_run.budget);
    m_line = expression.line;
    return evaluateNode(expression);
}

Value Evaluator::evaluateNode(const Expression& expression)
{
    const auto child = [&](std::size_t i) { return evaluate(*expression.children[i]); };
    switch (expression.kind) {
    case Kind::Constant:
        return expression.constant;
    case Kind::Variable:
        return variable(expression.name);
    case Kind::Body:
        return m_body;
    case Kind::List:
    case Kind::Tuple:
        return listOf(expression);
    case Kind::Dict:
        return dictOf(expression);
    case Kind::Attribute:
        return attributeOf(m_run, child(0), expression.text);
    case Kind::Item: {
        const Value subject = child(0);
        return itemOf(m_run, subject, child(1));
    }
    case Kind::Slice:
        return sliceOf(expression);
    case Kind::Call:
        return call(expression);
    case Kind::Filter:
        return filtered(expression);
    case Kind::Test:
        return tested(expression);
    case Kind::Not:
        return Value::boolean(!child(0).isTrue());
    case Kind::And: {
        Value left = child(0);
        return left.isTrue() ? child(1) : left;
    }
    case Kind::Or: {
        Value left = child(0);
        return left.isTrue() ? left : child(1);
    }
    case Kind::Negate:
        return negated(child(0));
    case Kind::Plus:
        return unchanged(child(0));
    case Kind::Arithmetic: {
        const Value left = child(0);
        const Value right = child(1);
        return calculate(m_run, expression.operators.front(), left, right);
    }
    case Kind::Comparison:
        return comparison(expression);
    case Kind::Concatenate:
        return concatenation(expression);
    case Kind::Conditional:
        return conditional(expression);
    }
    return {};
}

Value Evaluator::variable(NameId name)
{
    if (const Value* value = m_scope->find(m_run.budget, name))
        return *value;
    return Value::undefined("'" + clipped(m_tree.names[name]) + "' is undefined");
}

Value Evaluator::listOf(const Expression& expression)
{
    m_run.budget.items(expression.children.size());
    std::vector<Value> items;
    items.reserve(expression.children.size());
    for (const auto& child : expression.children)
        items.push_back(evaluate(*child));
    return expression.kind == Kind::List ? Value::list(std::move(items))
                                         : Value::tuple(std::move(items));
}

Value Evaluator::dictOf(const Expression& expression)
{
    m_run.budget.items(expression.children.size());
    Dict dict;
    for (std::size_t i = 0; i + 1 < expression.children.size(); i += 2) {
        Value key = evaluate(*expression.children[i]);
        dict.set(m_run.budget, std::move(key), evaluate(*expression.children[i + 1]));
    }
    return Value::dict(std::move(dict));
}

Value Evaluator::sliceOf(const Expression& expression)
{
    const auto child = [&](std::size_t i) {
        return expression.children[i] == nullptr ? Value::none()
                                                 : evaluate(*expression.children[i]);
    };
    const Value subject = child(0);
    const Value start = child(1);
    const Value stop = child(2);
    return jinja::sliceOf(m_run, subject, start, stop, child(3));
}

Value Evaluator::comparison(const Expression& expression)
{
    Value left = evaluate(*expression.children.front());
    for (std::size_t i = 0; i < expression.operators.size(); ++i) {
        Value right = evaluate(*expression.children[i + 1]);
        if (!compare(m_run, expression.operators[i], left, right))
            return Value::boolean(false);
        left = std::move(right);
    }
    return Value::boolean(true);
}

Value Evaluator::concatenation(const Expression& expression)
{
    TextBuilder out(m_run.budget);
    for (const auto& child : expression.children)
        addText(out, evaluate(*child));
    return out.takeValue();
}

Value Evaluator::conditional(const Expression& expression)
{
    if (evaluate(*expression.children[0]).isTrue())
        return evaluate(*expression.children[1]);
    if (expression.children[2] != nullptr)
        return evaluate(*expression.children[2]);
    return Value::undefined("an 'if' without 'else' gave nothing");
}

} // namespace kvscope::jinja
