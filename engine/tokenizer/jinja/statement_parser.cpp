#include "engine/tokenizer/jinja/budget.h"
#include "engine/tokenizer/jinja/parser.h"
#include "engine/tokenizer/jinja/template_error.h"

#include <algorithm>
#include <utility>

namespace kvscope::jinja {
namespace {

using Kind = Statement::Kind;

Statement statement(Kind kind, int line)
{
    Statement made;
    made.kind = kind;
    made.line = line;
    return made;
}

bool isOneOf(const Token& token, std::initializer_list<std::string_view> words)
{
    return token.kind == Token::Kind::Name && std::ranges::find(words, token.text) != words.end();
}

} // namespace

Parser::Level::Level(Parser& parser)
    : m_parser(parser)
{
    if (m_parser.m_depth >= limits::kSyntaxDepth)
        throw TemplateError(TemplateError::Reason::Limit, "it is nested too deep",
                            parser.current().line);
    ++m_parser.m_depth;
}

Parser::Parser(std::vector<Token> tokens)
    : m_tokens(std::move(tokens))
{
}

SyntaxTree Parser::parse()
{
    m_tree.body = parseBody({});
    return std::move(m_tree);
}

const Token& Parser::following() const
{
    return m_tokens[std::min(m_at + 1, m_tokens.size() - 1)];
}

Token Parser::take()
{
    const std::size_t at = m_at;
    if (m_at + 1 < m_tokens.size()) // End stays
        ++m_at;
    return m_tokens[at];
}

bool Parser::takeSign(std::string_view sign)
{
    const bool isThere = current().isSign(sign);
    if (isThere)
        take();
    return isThere;
}

bool Parser::takeName(std::string_view name)
{
    const bool isThere = current().isName(name);
    if (isThere)
        take();
    return isThere;
}

void Parser::expectSign(std::string_view sign)
{
    if (!takeSign(sign))
        failAt(current().line, "'" + std::string(sign) + "' was expected");
}

void Parser::expectName(std::string_view name)
{
    if (!takeName(name))
        failAt(current().line, "'" + std::string(name) + "' was expected");
}

void Parser::expect(Token::Kind kind, const char* what)
{
    if (current().kind != kind)
        failAt(current().line, std::string(what) + " was expected");
    take();
}

std::string Parser::expectAnyName()
{
    if (current().kind != Token::Kind::Name)
        failAt(current().line, "a name was expected");
    return take().text;
}

void Parser::failAt(int line, const std::string& words) const
{
    throw TemplateError(TemplateError::Reason::Syntax, words, line);
}

void Parser::failUnexpected() const
{
    const Token& token = current();
    const bool isText = token.kind == Token::Kind::Sign || token.kind == Token::Kind::Name;
    failAt(token.line, isText ? "unexpected '" + token.text + "'" : "an expression is cut off");
}

NameId Parser::idOf(const std::string& name)
{
    if (!m_macros.empty()) {
        MacroDefinition& macro = *m_macros.back();
        macro.usesCaller |= name == "caller";
        macro.usesExtra |= name == "varargs";
        macro.usesExtraNamed |= name == "kwargs";
    }
    const auto [entry, isNew] = m_ids.emplace(name, m_tree.names.size());
    if (isNew)
        m_tree.names.push_back(name);
    return entry->second;
}

Body Parser::parseBody(EndWords ends)
{
    const Level level(*this);
    Body body;
    for (;;) {
        const Token& token = current();
        if (token.kind == Token::Kind::End) {
            if (ends.size() > 0)
                failAt(token.line, "a block has no '" + std::string(*(ends.end() - 1)) + "'");
            return body;
        }
        if (token.kind == Token::Kind::Data) {
            body.push_back(statement(Kind::Text, token.line));
            body.back().text = take().text;
        } else if (token.kind == Token::Kind::OutputBegin) {
            body.push_back(statement(Kind::Output, take().line));
            body.back().value = parseTuple(Conditionals::Parsed, Parentheses::No);
            expect(Token::Kind::OutputEnd, "'}}'");
        } else {
            take();
            if (isOneOf(current(), ends))
                return body;
            body.push_back(parseStatement());
            expect(Token::Kind::BlockEnd, "'%}'");
        }
    }
}

/// After a block's head: its end, and the body up to one of `ends`, which is current then.
Body Parser::parseBodyOfBlock(EndWords ends)
{
    takeSign(":");
    expect(Token::Kind::BlockEnd, "'%}'");
    return parseBody(ends);
}

Statement Parser::parseStatement()
{
    const Level level(*this);
    using Parse = Statement (Parser::*)();
    constexpr std::pair<std::string_view, Parse> kStatements[] = {
        {"for", &Parser::parseFor},        {"if", &Parser::parseIf},
        {"set", &Parser::parseSet},        {"macro", &Parser::parseMacro},
        {"call", &Parser::parseCallBlock}, {"filter", &Parser::parseFilterBlock},
        {"with", &Parser::parseWith},      {"generation", &Parser::parseScope},
        {"print", &Parser::parsePrint}};
    const int line = current().line;
    const std::string word = expectAnyName();
    if (word == "break" || word == "continue")
        return parseLoopControl(word == "break" ? Kind::Break : Kind::Continue);
    const auto found = std::ranges::find(kStatements, word, [](const auto& s) { return s.first; });
    if (found == std::end(kStatements))
        failAt(line, "the tag '" + word + "' is not read here");
    Statement made = (this->*found->second)();
    made.line = line;
    return made;
}

Statement Parser::parseFor()
{
    Statement made = statement(Kind::For, 0);
    made.target = parseTarget({"in"}, false);
    expectName("in");
    made.value = parseTuple(Conditionals::Left, Parentheses::No);
    if (takeName("if"))
        made.condition = parseExpression();
    if (current().isName("recursive"))
        failAt(current().line, "a recursive loop is not read here");
    ++m_loops;
    made.body = parseBodyOfBlock({"else", "endfor"});
    --m_loops;
    if (take().text == "else") {
        made.otherwise = parseBodyOfBlock({"endfor"});
        take();
    }
    return made;
}

Statement Parser::parseIf()
{
    Statement made = statement(Kind::If, 0);
    for (;;) {
        Branch branch;
        branch.condition = parseTuple(Conditionals::Left, Parentheses::No);
        branch.body = parseBodyOfBlock({"elif", "else", "endif"});
        made.branches.push_back(std::move(branch));
        const std::string word = take().text;
        if (word == "endif")
            return made;
        if (word == "else")
            break;
    }
    made.branches.push_back({nullptr, parseBodyOfBlock({"endif"})});
    take();
    return made;
}

Statement Parser::parseSet()
{
    Statement made = statement(Kind::Set, 0);
    made.target = parseTarget({"="}, true);
    if (takeSign("=")) {
        made.value = parseTuple(Conditionals::Parsed, Parentheses::No);
        return made;
    }
    made.kind = Kind::SetBlock;
    made.value = node(Expression::Kind::Body, current().line, {});
    while (current().isSign("|"))
        made.value = parseFilter(std::move(made.value));
    made.body = parseBodyOfBlock({"endset"});
    take();
    return made;
}

Statement Parser::parseFilterBlock()
{
    Statement made = statement(Kind::Filter, 0);
    made.value = node(Expression::Kind::Filter, current().line,
                      nodes(node(Expression::Kind::Body, current().line, {})));
    made.value->text = expectAnyName();
    if (current().isSign("("))
        made.value->arguments = parseArguments();
    while (current().isSign("|"))
        made.value = parseFilter(std::move(made.value));
    made.body = parseBodyOfBlock({"endfilter"});
    take();
    return made;
}

Statement Parser::parseWith()
{
    Statement made = statement(Kind::With, 0);
    while (current().kind != Token::Kind::BlockEnd) {
        if (!made.assignments.empty())
            expectSign(",");
        Target target = parseTarget({"="}, false);
        expectSign("=");
        made.assignments.emplace_back(std::move(target), parseExpression());
    }
    made.body = parseBodyOfBlock({"endwith"});
    take();
    return made;
}

Statement Parser::parseScope()
{
    Statement made = statement(Kind::Scope, 0);
    made.body = parseBodyOfBlock({"endgeneration"});
    take();
    return made;
}

Statement Parser::parsePrint()
{
    Statement made = statement(Kind::Output, 0);
    made.value = parseTuple(Conditionals::Parsed, Parentheses::No);
    return made;
}

Statement Parser::parseLoopControl(Kind kind)
{
    if (m_loops == 0)
        failAt(current().line, "'break' or 'continue' stands outside a loop");
    return statement(kind, 0);
}

SyntaxTree parseTemplate(std::string_view source)
{
    return Parser(tokenize(source)).parse();
}

} // namespace kvscope::jinja
