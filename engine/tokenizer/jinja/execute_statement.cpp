#include "engine/tokenizer/jinja/evaluator.h"
#include "engine/tokenizer/jinja/objects.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/value_compare.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <utility>

namespace kvscope::jinja {

using Kind = Statement::Kind;

namespace {

/// Ends a loop however it is left: what it holds may hold it.
class LoopEnd
{
public:
    explicit LoopEnd(Loop& loop)
        : m_loop(loop)
    {
    }
    ~LoopEnd() { m_loop.end(); }
    LoopEnd(const LoopEnd&) = delete;
    LoopEnd& operator=(const LoopEnd&) = delete;

private:
    Loop& m_loop;
};

} // namespace

Evaluator::Evaluator(const SyntaxTree& tree, Run& run, const Dict& variables)
    : m_tree(tree)
    , m_run(run)
    , m_scope(std::make_shared<Scope>())
    , m_loopName(tree.names.size()) // no variable's, where the template does not speak of it
    , m_callerName(tree.names.size())
    , m_extraName(tree.names.size())
    , m_extraNamedName(tree.names.size())
{
    for (NameId id = 0; id < tree.names.size(); ++id) {
        const std::string& name = tree.names[id];
        if (const Value* value = variables.find(run.budget, std::string_view(name)))
            m_scope->set(m_run.budget, id, *value);
        else if (auto function = globalFunction(run, name))
            m_scope->set(m_run.budget, id, std::move(*function));
        NameId* known = name == "loop"      ? &m_loopName
                        : name == "caller"  ? &m_callerName
                        : name == "varargs" ? &m_extraName
                        : name == "kwargs"  ? &m_extraNamedName
                                            : nullptr;
        if (known != nullptr)
            *known = id;
    }
    m_scope = std::make_shared<Scope>(m_scope);
}

std::string Evaluator::render()
{
    try {
        execute(m_tree.body);
    } catch (const TemplateError& error) {
        throw TemplateError(error.reason(), error.words(), m_line);
    }
    return std::move(m_output);
}

void Evaluator::write(std::string_view text)
{
    m_run.budget.bytes(text.size());
    m_output.append(text);
}

void Evaluator::write(const Value& value)
{
    if (const auto* text = value.asText())
        write(std::string_view(*text));
    else
        write(std::string_view(toText(m_run.budget, value)));
}

Evaluator::Flow Evaluator::execute(const Body& body)
{
    for (const Statement& statement : body) {
        if (const Flow flow = execute(statement); flow != Flow::Next)
            return flow;
    }
    return Flow::Next;
}

Evaluator::Flow Evaluator::execute(const Statement& statement)
{
    m_run.budget.step();
    m_line = statement.line;
    switch (statement.kind) {
    case Kind::Text:
        write(statement.text);
        return Flow::Next;
    case Kind::Output:
        write(evaluate(*statement.value));
        return Flow::Next;
    case Kind::Set:
        assign(statement.target, evaluate(*statement.value));
        return Flow::Next;
    case Kind::Macro:
        m_scope->set(m_run.budget, statement.name, makeMacro(*statement.macro));
        return Flow::Next;
    case Kind::Break:
        return Flow::Break;
    case Kind::Continue:
        return Flow::Continue;
    default:
        return executeBlock(statement);
    }
}

Evaluator::Flow Evaluator::executeBlock(const Statement& statement)
{
    const DepthGuard guard(m_run.budget);
    switch (statement.kind) {
    case Kind::If:
        return executeIf(statement);
    case Kind::For:
        return executeFor(statement);
    case Kind::SetBlock:
    case Kind::Filter:
        return executeFiltered(statement);
    case Kind::With:
        return executeWith(statement);
    case Kind::Call:
        executeCallBlock(statement);
        return Flow::Next;
    default:
        return executeInScope(statement.body);
    }
}

Evaluator::Flow Evaluator::executeIf(const Statement& statement)
{
    for (const Branch& branch : statement.branches) {
        if (branch.condition == nullptr || evaluate(*branch.condition).isTrue())
            return execute(branch.body);
    }
    return Flow::Next;
}

Evaluator::Flow Evaluator::executeInScope(const Body& body)
{
    const auto outer = std::exchange(m_scope, std::make_shared<Scope>(m_scope));
    const Flow flow = execute(body);
    m_scope = outer;
    return flow;
}

std::string Evaluator::captured(const Body& body, Flow& flow)
{
    std::string outer = std::exchange(m_output, {});
    flow = execute(body);
    return std::exchange(m_output, std::move(outer));
}

Evaluator::Flow Evaluator::executeFiltered(const Statement& statement)
{
    const auto outer = std::exchange(m_scope, std::make_shared<Scope>(m_scope));
    Flow flow = Flow::Next;
    std::string text = captured(statement.body, flow);
    m_scope = outer;
    if (flow != Flow::Next)
        return flow;
    Value body = std::exchange(m_body, Value::text(std::move(text)));
    Value result = evaluate(*statement.value);
    m_body = std::move(body);
    if (statement.kind == Kind::Filter)
        write(result);
    else
        assign(statement.target, std::move(result));
    return Flow::Next;
}

Evaluator::Flow Evaluator::executeWith(const Statement& statement)
{
    std::vector<Value> values; // all in the outer scope
    for (const auto& assignment : statement.assignments)
        values.push_back(evaluate(*assignment.second));
    const auto outer = std::exchange(m_scope, std::make_shared<Scope>(m_scope));
    for (std::size_t i = 0; i < values.size(); ++i)
        assign(statement.assignments[i].first, std::move(values[i]));
    const Flow flow = execute(statement.body);
    m_scope = outer;
    return flow;
}

Evaluator::Flow Evaluator::executeFor(const Statement& statement)
{
    const Value iterable = evaluate(*statement.value);
    const std::vector<Value>* items = sequenceItems(iterable);
    std::vector<Value> own;
    if (items == nullptr || statement.condition != nullptr) {
        own = items == nullptr ? iterated(m_run.budget, iterable) : *items;
        if (statement.condition != nullptr)
            own = selected(statement, std::move(own));
        items = &own;
    }
    // As in Jinja, a loop that was always left early counts as empty.
    return executeRounds(statement, *items) ? Flow::Next : executeInScope(statement.otherwise);
}

/// The items that the loop's own `if` lets through. It does not know `loop`.
std::vector<Value> Evaluator::selected(const Statement& loop, std::vector<Value> items)
{
    m_run.budget.items(items.size());
    const auto outer = std::exchange(m_scope, std::make_shared<Scope>(m_scope));
    std::erase_if(items, [&](const Value& item) {
        m_scope->clear();
        assign(loop.target, item);
        return !evaluate(*loop.condition).isTrue();
    });
    m_scope = outer;
    return items;
}

/// \return whether any round went to its end
bool Evaluator::executeRounds(const Statement& statement, const std::vector<Value>& items)
{
    bool isAnyWhole = false;
    const auto outer = std::exchange(m_scope, std::make_shared<Scope>(m_scope));
    const auto loop = std::make_shared<Loop>(m_run, items);
    const LoopEnd end(*loop);
    for (std::size_t i = 0; i < items.size(); ++i) {
        m_run.budget.step();
        m_scope->clear(); // a round knows nothing of the one before
        loop->moveTo(i);
        if (m_loopName < m_tree.names.size())
            m_scope->set(m_run.budget, m_loopName, Value::object(loop));
        assign(statement.target, items[i]);
        const Flow flow = execute(statement.body);
        isAnyWhole |= flow == Flow::Next;
        if (flow == Flow::Break)
            break;
    }
    m_scope = outer;
    return isAnyWhole;
}

void Evaluator::assign(const Target& target, Value value)
{
    switch (target.kind) {
    case Target::Kind::Variable:
        m_scope->set(m_run.budget, target.name, std::move(value));
        return;
    case Target::Kind::NamespaceAttribute: {
        const Value holder = variable(target.name);
        auto* space = dynamic_cast<Namespace*>(holder.asObject());
        if (space == nullptr)
            fail("'" + m_tree.names[target.name] +
                 "' is no namespace, so its attributes cannot be set");
        m_run.budget.items(1);
        space->set(m_run.budget, target.attribute, std::move(value));
        return;
    }
    case Target::Kind::Tuple:
        assignTuple(target, value);
        return;
    }
}

void Evaluator::assignTuple(const Target& target, const Value& value)
{
    if (value.isUndefined())
        fail(value.undefinedHint());
    std::vector<Value> parts = iterated(m_run.budget, value);
    if (parts.size() != target.parts.size())
        fail(std::to_string(parts.size()) + " values cannot be set to " +
             std::to_string(target.parts.size()) + " names");
    for (std::size_t i = 0; i < parts.size(); ++i)
        assign(target.parts[i], std::move(parts[i]));
}

} // namespace kvscope::jinja
