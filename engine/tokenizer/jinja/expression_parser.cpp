#include "engine/tokenizer/jinja/budget.h"
#include "engine/tokenizer/jinja/parser.h"
#include "engine/tokenizer/jinja/template_error.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace kvscope::jinja {
namespace {

using Kind = Expression::Kind;

/// Expressions inside each other, long chains of `+` or `|` included: each level is evaluated
/// within the one around it.
constexpr std::size_t kExpressionDepth = 300;

} // namespace

ExpressionPtr Parser::node(Kind kind, int line, std::vector<ExpressionPtr> children) const
{
    auto made = std::make_unique<Expression>();
    made->kind = kind;
    made->line = line;
    made->children = std::move(children);
    for (const auto& child : made->children) {
        if (child != nullptr)
            made->depth = std::max(made->depth, child->depth + 1);
    }
    if (made->depth > kExpressionDepth)
        throw TemplateError(TemplateError::Reason::Limit, "an expression is nested too deep", line);
    return made;
}

ExpressionPtr Parser::arithmetic(Operator op, ExpressionPtr left, ExpressionPtr right) const
{
    const int line = left->line;
    auto made = node(Kind::Arithmetic, line, nodes(std::move(left), std::move(right)));
    made->operators.push_back(op);
    return made;
}

ExpressionPtr Parser::parseExpression()
{
    return parseConditional();
}

ExpressionPtr Parser::parseConditional()
{
    const Level level(*this);
    ExpressionPtr value = parseOr();
    while (takeName("if")) {
        ExpressionPtr condition = parseOr();
        ExpressionPtr otherwise = takeName("else") ? parseConditional() : nullptr;
        const int line = value->line;
        value = node(Kind::Conditional, line,
                     nodes(std::move(condition), std::move(value), std::move(otherwise)));
    }
    return value;
}

ExpressionPtr Parser::parseOr()
{
    ExpressionPtr left = parseAnd();
    while (takeName("or")) {
        const int line = left->line;
        left = node(Kind::Or, line, nodes(std::move(left), parseAnd()));
    }
    return left;
}

ExpressionPtr Parser::parseAnd()
{
    ExpressionPtr left = parseNot();
    while (takeName("and")) {
        const int line = left->line;
        left = node(Kind::And, line, nodes(std::move(left), parseNot()));
    }
    return left;
}

ExpressionPtr Parser::parseNot()
{
    const int line = current().line;
    if (!takeName("not"))
        return parseComparison();
    const Level level(*this);
    return node(Kind::Not, line, nodes(parseNot()));
}

ExpressionPtr Parser::parseComparison()
{
    constexpr std::pair<std::string_view, Operator> kOperators[] = {
        {"==", Operator::Equal},     {"!=", Operator::NotEqual}, {"<", Operator::Less},
        {"<=", Operator::LessEqual}, {">", Operator::Greater},   {">=", Operator::GreaterEqual}};
    const int line = current().line;
    std::vector<ExpressionPtr> sides = nodes(parseSum());
    std::vector<Operator> operators;
    for (;;) {
        const auto found = std::ranges::find_if(
            kOperators, [this](const auto& op) { return current().isSign(op.first); });
        if (found != std::end(kOperators)) {
            take();
            operators.push_back(found->second);
        } else if (takeName("in")) {
            operators.push_back(Operator::In);
        } else if (current().isName("not") && following().isName("in")) {
            take();
            take();
            operators.push_back(Operator::NotIn);
        } else {
            break;
        }
        sides.push_back(parseSum());
    }
    if (operators.empty())
        return std::move(sides.front());
    auto made = node(Kind::Comparison, line, std::move(sides));
    made->operators = std::move(operators);
    return made;
}

ExpressionPtr Parser::parseSum()
{
    ExpressionPtr left = parseConcatenation();
    while (current().isSign("+") || current().isSign("-")) {
        const auto op = take().text == "+" ? Operator::Add : Operator::Subtract;
        left = arithmetic(op, std::move(left), parseConcatenation());
    }
    return left;
}

ExpressionPtr Parser::parseConcatenation()
{
    const int line = current().line;
    std::vector<ExpressionPtr> parts = nodes(parseProduct());
    while (takeSign("~"))
        parts.push_back(parseProduct());
    return parts.size() == 1 ? std::move(parts.front())
                             : node(Kind::Concatenate, line, std::move(parts));
}

ExpressionPtr Parser::parseProduct()
{
    constexpr std::pair<std::string_view, Operator> kOperators[] = {{"*", Operator::Multiply},
                                                                    {"/", Operator::Divide},
                                                                    {"//", Operator::FloorDivide},
                                                                    {"%", Operator::Modulo}};
    ExpressionPtr left = parsePower();
    for (;;) {
        const auto found = std::ranges::find_if(
            kOperators, [this](const auto& op) { return current().isSign(op.first); });
        if (found == std::end(kOperators))
            return left;
        take();
        left = arithmetic(found->second, std::move(left), parsePower());
    }
}

ExpressionPtr Parser::parsePower()
{
    ExpressionPtr left = parseUnary(true);
    while (takeSign("**"))
        left = arithmetic(Operator::Power, std::move(left), parseUnary(true));
    return left;
}

ExpressionPtr Parser::parseUnary(bool hasFilters)
{
    const Level level(*this);
    const int line = current().line;
    ExpressionPtr made;
    if (takeSign("-"))
        made = node(Kind::Negate, line, nodes(parseUnary(false)));
    else if (takeSign("+"))
        made = node(Kind::Plus, line, nodes(parseUnary(false)));
    else
        made = parsePrimary();
    made = parsePostfix(std::move(made));
    return hasFilters ? parseFilters(std::move(made)) : std::move(made);
}

ExpressionPtr Parser::parsePrimary()
{
    switch (current().kind) {
    case Token::Kind::Name:
        return parseNamePrimary();
    case Token::Kind::Text:
        return parseTextPrimary();
    case Token::Kind::Integer:
    case Token::Kind::Float:
        return parseNumber();
    default:
        break;
    }
    if (takeSign("(")) {
        ExpressionPtr inner = parseTuple(Conditionals::Parsed, Parentheses::Yes);
        expectSign(")");
        return inner;
    }
    if (current().isSign("["))
        return parseList();
    if (current().isSign("{"))
        return parseDict();
    failUnexpected();
}

ExpressionPtr Parser::parseNamePrimary()
{
    const Token token = take();
    auto made = node(Kind::Constant, token.line, {});
    if (token.text == "true" || token.text == "True")
        made->constant = Value::boolean(true);
    else if (token.text == "false" || token.text == "False")
        made->constant = Value::boolean(false);
    else if (token.text == "none" || token.text == "None")
        made->constant = Value::none();
    else {
        made->kind = Kind::Variable;
        made->name = idOf(token.text);
    }
    return made;
}

ExpressionPtr Parser::parseTextPrimary()
{
    auto made = node(Kind::Constant, current().line, {});
    std::string text;
    while (current().kind == Token::Kind::Text) // neighbours are one literal, as in Python
        text += take().text;
    made->constant = Value::text(std::move(text));
    return made;
}

ExpressionPtr Parser::parseNumber()
{
    const Token token = take();
    auto made = node(Kind::Constant, token.line, {});
    const char* begin = token.text.data();
    const char* end = begin + token.text.size();
    if (token.kind == Token::Kind::Float) {
        double value = 0.0;
        if (std::from_chars(begin, end, value).ec != std::errc())
            failAt(token.line, "the number " + token.text + " is out of range");
        made->constant = Value::real(value);
        return made;
    }
    std::int64_t value = 0;
    if (std::from_chars(begin, end, value).ec != std::errc())
        failAt(token.line, "an integer is too large");
    made->constant = Value::integer(value);
    return made;
}

bool Parser::isTupleEnd() const
{
    return current().kind == Token::Kind::OutputEnd || current().kind == Token::Kind::BlockEnd ||
           current().isSign(")");
}

ExpressionPtr Parser::parseTuple(Conditionals conditionals, Parentheses parentheses)
{
    const int line = current().line;
    std::vector<ExpressionPtr> items;
    bool isTuple = false;
    while (!isTupleEnd()) {
        items.push_back(conditionals == Conditionals::Parsed ? parseExpression() : parseOr());
        if (!takeSign(","))
            break;
        isTuple = true;
    }
    if (!isTuple && items.size() == 1)
        return std::move(items.front());
    if (items.empty() && parentheses == Parentheses::No)
        failUnexpected();
    return node(Kind::Tuple, line, std::move(items));
}

ExpressionPtr Parser::parseList()
{
    const int line = take().line;
    std::vector<ExpressionPtr> items;
    while (!current().isSign("]")) {
        items.push_back(parseExpression());
        if (!takeSign(","))
            break;
    }
    expectSign("]");
    return node(Kind::List, line, std::move(items));
}

ExpressionPtr Parser::parseDict()
{
    const int line = take().line;
    std::vector<ExpressionPtr> items;
    while (!current().isSign("}")) {
        items.push_back(parseExpression());
        expectSign(":");
        items.push_back(parseExpression());
        if (!takeSign(","))
            break;
    }
    expectSign("}");
    return node(Kind::Dict, line, std::move(items));
}

} // namespace kvscope::jinja
