#include "engine/tokenizer/jinja/evaluator.h"
#include "engine/tokenizer/jinja/filters.h"
#include "engine/tokenizer/jinja/objects.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/value_compare.h"

#include <algorithm>
#include <utility>

namespace kvscope::jinja {

/// A macro as a value. It lives in the scope it was defined in, so it only looks at that scope.
class Macro : public Object
{
public:
    Macro(Evaluator& evaluator, const MacroDefinition& definition, std::weak_ptr<Scope> scope)
        : m_evaluator(evaluator)
        , m_definition(definition)
        , m_scope(std::move(scope))
    {
    }
    std::string_view typeName() const override { return "Macro"; }
    bool isCallable() const override { return true; }
    std::string text(Budget&) const override { return "<Macro '" + m_definition.name + "'>"; }

    std::optional<Value> attribute(Budget&, std::string_view name) const override
    {
        return name == "name" ? std::optional(Value::text(m_definition.name)) : std::nullopt;
    }

    Value call(const Arguments& arguments) override
    {
        const auto scope = m_scope.lock();
        if (scope == nullptr)
            fail("the macro '" + m_definition.name + "' is called outside of where it is defined");
        return m_evaluator.invoke(m_definition, scope, arguments);
    }

private:
    Evaluator& m_evaluator;
    const MacroDefinition& m_definition;
    std::weak_ptr<Scope> m_scope;
};

Value Evaluator::makeMacro(const MacroDefinition& macro)
{
    m_run.budget.items(2);
    return Value::object(std::make_shared<Macro>(*this, macro, m_scope));
}

Arguments Evaluator::arguments(const Expression& expression)
{
    Arguments all;
    all.positional.reserve(expression.arguments.size());
    for (const CallArgument& argument : expression.arguments) {
        if (argument.kind == CallArgument::Kind::Positional)
            all.positional.push_back(evaluate(*argument.value));
        else if (argument.kind == CallArgument::Kind::Named)
            all.named.emplace_back(argument.name, evaluate(*argument.value));
        else
            addSpread(all, argument);
    }
    return all;
}

/// `*list` or `**dict` in a call.
void Evaluator::addSpread(Arguments& all, const CallArgument& argument)
{
    const Value value = evaluate(*argument.value);
    if (argument.kind == CallArgument::Kind::Spread) {
        for (Value& item : iterated(m_run.budget, value))
            all.positional.push_back(std::move(item));
        return;
    }
    const auto* dict = value.asDict();
    if (dict == nullptr)
        fail("what follows '**' is no dict");
    m_run.budget.items(dict->entries().size());
    for (const auto& [key, held] : dict->entries()) {
        if (!key.isText())
            fail("an argument's name is no text");
        all.named.emplace_back(*key.asText(), held);
    }
}

Value Evaluator::call(const Expression& expression)
{
    const Expression& callee = *expression.children.front();
    if (callee.kind == Expression::Kind::Attribute) { // most calls are of methods
        const Value subject = evaluate(*callee.children.front());
        if (!subject.isUndefined() && subject.asObject() == nullptr) {
            const Arguments given = arguments(expression);
            m_line = expression.line;
            if (auto result = callMethod(m_run, subject, callee.text, given))
                return *result;
            const auto* dict = subject.asDict();
            const Value* item =
                dict == nullptr ? nullptr : dict->find(m_run.budget, std::string_view(callee.text));
            if (item == nullptr)
                fail("'" + std::string(subject.typeName()) + "' has no method '" + callee.text +
                     "'");
            return callValue(*item, given);
        }
    }
    const Value called = evaluate(callee);
    const Arguments given = arguments(expression);
    m_line = expression.line;
    return callValue(called, given);
}

Value Evaluator::callValue(const Value& callee, const Arguments& given)
{
    if (callee.isUndefined())
        fail(callee.undefinedHint());
    auto pointer = callee.objectPointer();
    if (pointer == nullptr || !(*pointer)->isCallable())
        fail("a value of type '" + std::string(callee.typeName()) + "' cannot be called");
    return (*pointer)->call(given);
}

Value Evaluator::filtered(const Expression& expression)
{
    const Value subject = evaluate(*expression.children.front());
    const Arguments given = arguments(expression);
    m_line = expression.line;
    return applyFilter(m_run, expression.text, subject, given);
}

Value Evaluator::tested(const Expression& expression)
{
    const Value subject = evaluate(*expression.children.front());
    const Arguments given = arguments(expression);
    m_line = expression.line;
    return Value::boolean(applyTest(m_run, expression.text, subject, given));
}

Value Evaluator::invoke(const MacroDefinition& macro, const std::shared_ptr<Scope>& scope,
                        const Arguments& given)
{
    const DepthGuard guard(m_run.budget);
    const auto caller = std::exchange(m_scope, std::make_shared<Scope>(scope));
    bindParameters(macro, given);
    bindExtra(macro, given);
    Flow flow = Flow::Next;
    std::string text = captured(macro.body, flow);
    m_scope = caller;
    return Value::text(std::move(text));
}

void Evaluator::bindParameters(const MacroDefinition& macro, const Arguments& given)
{
    for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
        m_run.budget.step(given.named.size() / 16 + 1);
        const auto& parameter = macro.parameters[i];
        const std::string& name = m_tree.names[parameter.name];
        const auto named =
            std::ranges::find(given.named, name, [](const auto& n) { return n.first; });
        if (i < given.positional.size())
            m_scope->set(m_run.budget, parameter.name, given.positional[i]);
        else if (named != given.named.end())
            m_scope->set(m_run.budget, parameter.name, named->second);
        else if (parameter.standard != nullptr)
            m_scope->set(m_run.budget, parameter.name, evaluate(*parameter.standard));
        else
            m_scope->set(m_run.budget, parameter.name,
                         Value::undefined("parameter '" + clipped(name) + "' was not provided"));
    }
}

/// What is given beyond the parameters: `caller`, `varargs`, `kwargs`, or too much.
void Evaluator::bindExtra(const MacroDefinition& macro, const Arguments& given)
{
    const std::size_t used = std::min(given.positional.size(), macro.parameters.size());
    std::vector<Value> extra(given.positional.begin() + static_cast<std::ptrdiff_t>(used),
                             given.positional.end());
    if (!extra.empty() && !macro.usesExtra)
        fail("the macro '" + macro.name + "' takes at most " + std::to_string(used) + " arguments");
    Dict extraNamed;
    Value caller = Value::undefined("No caller defined");
    for (const auto& [name, value] : given.named) {
        m_run.budget.step(macro.parameters.size() / 16 + 1);
        const auto at = std::ranges::find(macro.parameters, name,
                                          [&](const auto& p) { return m_tree.names[p.name]; });
        const bool isParameter = at != macro.parameters.end();
        if (isParameter && static_cast<std::size_t>(at - macro.parameters.begin()) >= used)
            continue;
        if (name == "caller" && macro.usesCaller)
            caller = value;
        else if (macro.usesExtraNamed)
            extraNamed.set(m_run.budget, name, value);
        else
            fail("the macro '" + macro.name + "' has no argument '" + name + "'");
    }
    if (macro.usesCaller)
        m_scope->set(m_run.budget, m_callerName, std::move(caller));
    if (macro.usesExtra)
        m_scope->set(m_run.budget, m_extraName, Value::tuple(std::move(extra)));
    if (macro.usesExtraNamed)
        m_scope->set(m_run.budget, m_extraNamedName, Value::dict(std::move(extraNamed)));
}

void Evaluator::executeCallBlock(const Statement& statement)
{
    const Expression& callee = *statement.value->children.front();
    const Value called = evaluate(callee);
    Arguments given = arguments(*statement.value);
    given.named.emplace_back("caller", makeMacro(*statement.macro));
    m_line = statement.line;
    write(callValue(called, given));
}

} // namespace kvscope::jinja
