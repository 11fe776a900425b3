#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/scope.h"
#include "engine/tokenizer/jinja/syntax_tree.h"

#include <memory>
#include <string>

namespace kvscope::jinja {

/// Runs one template once. Expressions are in evaluate_expression.cpp, statements in
/// execute_statement.cpp, calls and macros in evaluate_call.cpp.
class Evaluator
{
public:
    /// \param variables  by name; other names are functions or undefined
    Evaluator(const SyntaxTree& tree, Run& run, const Dict& variables);

    /// The text of the whole template. \throws TemplateError, with its line
    std::string render();

private:
    friend class Macro;
    /// What is done after a statement.
    enum class Flow { Next, Break, Continue };

    Flow execute(const Body& body);
    Flow execute(const Statement& statement);
    Flow executeBlock(const Statement& statement);
    Flow executeIf(const Statement& statement);
    Flow executeFor(const Statement& statement);
    bool executeRounds(const Statement& statement, const std::vector<Value>& items);
    Flow executeFiltered(const Statement& statement);
    Flow executeWith(const Statement& statement);
    std::vector<Value> selected(const Statement& loop, std::vector<Value> items);
    void executeCallBlock(const Statement& statement);
    void executeSet(const Statement& statement);
    Flow executeInScope(const Body& body);
    void assign(const Target& target, Value value);
    void assignTuple(const Target& target, const Value& value);
    void write(const Value& value);
    void write(std::string_view text);

    Value evaluate(const Expression& expression);
    Value evaluateNode(const Expression& expression);
    Value variable(NameId name);
    Value listOf(const Expression& expression);
    Value dictOf(const Expression& expression);
    Value sliceOf(const Expression& expression);
    Value comparison(const Expression& expression);
    Value concatenation(const Expression& expression);
    Value conditional(const Expression& expression);
    Value call(const Expression& expression);
    Value filtered(const Expression& expression);
    Value tested(const Expression& expression);
    Arguments arguments(const Expression& expression);
    void addSpread(Arguments& arguments, const CallArgument& argument);
    Value callValue(const Value& callee, const Arguments& arguments);

    /// A macro's text for these arguments.
    Value invoke(const MacroDefinition& macro, const std::shared_ptr<Scope>& scope,
                 const Arguments& arguments);
    void bindParameters(const MacroDefinition& macro, const Arguments& arguments);
    void bindExtra(const MacroDefinition& macro, const Arguments& arguments);
    Value makeMacro(const MacroDefinition& macro);
    /// The text that a body renders.
    std::string captured(const Body& body, Flow& flow);

    const SyntaxTree& m_tree;
    Run& m_run;
    std::shared_ptr<Scope> m_scope;
    std::string m_output;
    Value m_body; ///< of the filter block at hand
    NameId m_loopName = 0;
    NameId m_callerName = 0;
    NameId m_extraName = 0;
    NameId m_extraNamedName = 0;
    int m_line = 1; ///< of what is evaluated, for messages
};

} // namespace kvscope::jinja
