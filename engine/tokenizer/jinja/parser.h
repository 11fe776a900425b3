#pragma once

#include "engine/tokenizer/jinja/lexer.h"
#include "engine/tokenizer/jinja/syntax_tree.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kvscope::jinja {

/// Tokens to a tree, by recursive descent with Jinja's precedences. Source: jinja2 3.1, parser.py.
/// The statements are in statement_parser.cpp, the expressions in expression_parser.cpp.
class Parser
{
public:
    explicit Parser(std::vector<Token> tokens);
    SyntaxTree parse();

private:
    using EndWords = std::initializer_list<std::string_view>;

    // --- tokens
    const Token& current() const { return m_tokens[m_at]; }
    const Token& following() const;
    Token take();
    bool takeSign(std::string_view sign);
    bool takeName(std::string_view name);
    void expectSign(std::string_view sign);
    void expectName(std::string_view name);
    void expect(Token::Kind kind, const char* what);
    std::string expectAnyName();
    [[noreturn]] void failAt(int line, const std::string& words) const;
    [[noreturn]] void failUnexpected() const;
    NameId idOf(const std::string& name);

    // --- statements
    Body parseBody(EndWords ends);
    Body parseBodyOfBlock(EndWords ends);
    Statement parseStatement();
    Statement parseFor();
    Statement parseIf();
    Statement parseSet();
    Statement parseMacro();
    Statement parseCallBlock();
    Statement parseFilterBlock();
    Statement parseWith();
    Statement parseScope();
    Statement parsePrint();
    Statement parseLoopControl(Statement::Kind kind);
    void parseParameters(MacroDefinition& macro);
    void parseMacroBody(MacroDefinition& macro, EndWords ends);
    Target parseTarget(EndWords ends, bool mayBeAttribute);
    Target parseOneTarget(bool mayBeAttribute);
    NameId assignable(const Token& token);

    // --- expressions
    ExpressionPtr parseExpression();
    ExpressionPtr parseConditional();
    ExpressionPtr parseOr();
    ExpressionPtr parseAnd();
    ExpressionPtr parseNot();
    ExpressionPtr parseComparison();
    ExpressionPtr parseSum();
    ExpressionPtr parseConcatenation();
    ExpressionPtr parseProduct();
    ExpressionPtr parsePower();
    ExpressionPtr parseUnary(bool hasFilters);
    ExpressionPtr parsePrimary();
    ExpressionPtr parseNamePrimary();
    ExpressionPtr parseTextPrimary();
    ExpressionPtr parseNumber();
    ExpressionPtr parseList();
    ExpressionPtr parseDict();
    enum class Conditionals { Parsed, Left };
    enum class Parentheses { Yes, No };
    ExpressionPtr parseTuple(Conditionals conditionals, Parentheses parentheses);
    ExpressionPtr parsePostfix(ExpressionPtr subject);
    ExpressionPtr parseFilters(ExpressionPtr subject);
    ExpressionPtr parseFilter(ExpressionPtr subject);
    ExpressionPtr parseTest(ExpressionPtr subject);
    ExpressionPtr parseSubscript(ExpressionPtr subject);
    ExpressionPtr parseSlice(ExpressionPtr subject, ExpressionPtr start, int line);
    ExpressionPtr parseCall(ExpressionPtr subject);
    std::vector<CallArgument> parseArguments();
    CallArgument parseArgument();
    bool isTupleEnd() const;

    ExpressionPtr node(Expression::Kind kind, int line, std::vector<ExpressionPtr> children) const;
    ExpressionPtr arithmetic(Operator op, ExpressionPtr left, ExpressionPtr right) const;

    /// One level deeper for as long as it lives.
    class Level;

    std::vector<Token> m_tokens;
    std::size_t m_at = 0;
    std::size_t m_depth = 0;
    int m_loops = 0; ///< around the statement at hand, within its macro
    std::vector<MacroDefinition*> m_macros;
    std::unordered_map<std::string, NameId> m_ids;
    SyntaxTree m_tree;
};

class Parser::Level
{
public:
    explicit Level(Parser& parser);
    ~Level() { --m_parser.m_depth; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

private:
    Parser& m_parser;
};

/// A list of one or more nodes, which cannot be copied.
template <typename... Nodes>
std::vector<ExpressionPtr> nodes(Nodes... some)
{
    std::vector<ExpressionPtr> list;
    (list.push_back(std::move(some)), ...);
    return list;
}

} // namespace kvscope::jinja
