#pragma once

#include "engine/tokenizer/jinja/value.h"

#include <memory>
#include <string>
#include <vector>

namespace kvscope::jinja {

/// A variable's number: an index into SyntaxTree::names.
using NameId = std::size_t;

enum class Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    NotIn
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArgument
{
    enum class Kind { Positional, Named, Spread, NamedSpread };
    Kind kind = Kind::Positional;
    std::string name; ///< of a named one
    ExpressionPtr value;
};

struct Expression
{
    enum class Kind {
        Constant,    ///< constant
        Variable,    ///< name
        Body,        ///< what a filter block or a set block has rendered
        List,        ///< children
        Tuple,       ///< children
        Dict,        ///< children: key, value, key, ...
        Attribute,   ///< children[0], text
        Item,        ///< children[0], children[1]
        Slice,       ///< children[0], then start, stop, step, each may be null
        Call,        ///< children[0], arguments
        Filter,      ///< children[0], text, arguments
        Test,        ///< children[0], text, arguments
        Not,         ///< children[0]
        And,         ///< children[0], children[1]
        Or,          ///< children[0], children[1]
        Negate,      ///< children[0]
        Plus,        ///< children[0]
        Arithmetic,  ///< children[0], children[1], operators[0]
        Comparison,  ///< children, and between each two of them an operator
        Concatenate, ///< children, as texts
        Conditional  ///< children: condition, value, otherwise (may be null)
    };
    Kind kind = Kind::Constant;
    int line = 1;
    NameId name = 0;
    std::string text;
    Value constant;
    std::vector<ExpressionPtr> children;
    std::vector<Operator> operators;
    std::vector<CallArgument> arguments;
    std::size_t depth = 1; ///< expressions inside each other, itself included
};

/// What `for` and `set` assign to.
struct Target
{
    enum class Kind { Variable, NamespaceAttribute, Tuple };
    Kind kind = Kind::Variable;
    NameId name = 0;
    std::string attribute;
    std::vector<Target> parts;
};

struct Statement;
using Body = std::vector<Statement>;

struct Branch
{
    ExpressionPtr condition; ///< null: else
    Body body;
};

/// A macro, or the body that a call block hands over.
struct MacroDefinition
{
    struct Parameter
    {
        NameId name = 0;
        ExpressionPtr standard; ///< null: none
    };
    std::string name;
    std::vector<Parameter> parameters;
    Body body;
    bool usesCaller = false; ///< its body speaks of `caller`, `varargs`, `kwargs`
    bool usesExtra = false;
    bool usesExtraNamed = false;
};

struct Statement
{
    enum class Kind {
        Text,     ///< text
        Output,   ///< value
        Set,      ///< target, value
        SetBlock, ///< target, body, value (filters over Body) may be null
        If,       ///< branches
        For,      ///< target, value, condition may be null, body, otherwise
        Macro,    ///< name, macro
        Call,     ///< value (a call), macro
        Filter,   ///< value (filters over Body), body
        With,     ///< assignments, body
        Scope,    ///< body: {% generation %}
        Break,
        Continue
    };
    Kind kind = Kind::Text;
    int line = 1;
    std::string text;
    NameId name = 0;
    Target target;
    ExpressionPtr value;
    ExpressionPtr condition;
    Body body;
    Body otherwise;
    std::vector<Branch> branches;
    std::vector<std::pair<Target, ExpressionPtr>> assignments;
    std::unique_ptr<MacroDefinition> macro;
};

struct SyntaxTree
{
    Body body;
    std::vector<std::string> names; ///< of variables, each once
};

/// \throws TemplateError (Syntax, Limit) naming the line
SyntaxTree parseTemplate(std::string_view source);

} // namespace kvscope::jinja
