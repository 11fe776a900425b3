#include "engine/tokenizer/jinja/parser.h"

#include <utility>

namespace kvscope::jinja {
namespace {

using Kind = Expression::Kind;

} // namespace

ExpressionPtr Parser::parsePostfix(ExpressionPtr subject)
{
    for (;;) {
        if (current().isSign(".") || current().isSign("["))
            subject = parseSubscript(std::move(subject));
        else if (current().isSign("("))
            subject = parseCall(std::move(subject));
        else
            return subject;
    }
}

ExpressionPtr Parser::parseFilters(ExpressionPtr subject)
{
    for (;;) {
        if (current().isSign("|"))
            subject = parseFilter(std::move(subject));
        else if (current().isName("is"))
            subject = parseTest(std::move(subject));
        else if (current().isSign("("))
            subject = parseCall(std::move(subject));
        else
            return subject;
    }
}

ExpressionPtr Parser::parseSubscript(ExpressionPtr subject)
{
    const int line = current().line;
    if (takeSign(".")) {
        const Token name = take();
        if (name.kind == Token::Kind::Name) {
            auto made = node(Kind::Attribute, line, nodes(std::move(subject)));
            made->text = name.text;
            return made;
        }
        if (name.kind != Token::Kind::Integer)
            failAt(name.line, "a name or number was expected after '.'");
        --m_at;
        return node(Kind::Item, line, nodes(std::move(subject), parseNumber()));
    }
    take();
    ExpressionPtr index;
    if (!current().isSign(":"))
        index = parseExpression();
    if (current().isSign(":"))
        return parseSlice(std::move(subject), std::move(index), line);
    if (current().isSign(","))
        failAt(line, "an index of several values is not read here");
    expectSign("]");
    return node(Kind::Item, line, nodes(std::move(subject), std::move(index)));
}

ExpressionPtr Parser::parseSlice(ExpressionPtr subject, ExpressionPtr start, int line)
{
    ExpressionPtr stop;
    ExpressionPtr step;
    expectSign(":");
    if (!current().isSign(":") && !current().isSign("]"))
        stop = parseExpression();
    if (takeSign(":") && !current().isSign("]"))
        step = parseExpression();
    expectSign("]");
    return node(Kind::Slice, line,
                nodes(std::move(subject), std::move(start), std::move(stop), std::move(step)));
}

ExpressionPtr Parser::parseCall(ExpressionPtr subject)
{
    auto made = node(Kind::Call, current().line, nodes(std::move(subject)));
    made->arguments = parseArguments();
    return made;
}

std::vector<CallArgument> Parser::parseArguments()
{
    const int line = current().line;
    std::vector<CallArgument> arguments;
    auto last = CallArgument::Kind::Positional;
    expectSign("(");
    while (!current().isSign(")")) {
        arguments.push_back(parseArgument());
        if (arguments.back().kind < last)
            failAt(line, "the arguments of a call are out of order");
        last = arguments.back().kind;
        if (!takeSign(","))
            break;
    }
    expectSign(")");
    return arguments;
}

CallArgument Parser::parseArgument()
{
    CallArgument argument;
    if (takeSign("*")) {
        argument.kind = CallArgument::Kind::Spread;
    } else if (takeSign("**")) {
        argument.kind = CallArgument::Kind::NamedSpread;
    } else if (current().kind == Token::Kind::Name && following().isSign("=")) {
        argument.kind = CallArgument::Kind::Named;
        argument.name = take().text;
        take();
    }
    argument.value = parseExpression();
    return argument;
}

ExpressionPtr Parser::parseFilter(ExpressionPtr subject)
{
    expectSign("|");
    const int line = current().line;
    auto made = node(Kind::Filter, line, nodes(std::move(subject)));
    made->text = expectAnyName();
    if (current().isSign("("))
        made->arguments = parseArguments();
    return made;
}

ExpressionPtr Parser::parseTest(ExpressionPtr subject)
{
    const int line = take().line;
    const bool isNegated = takeName("not");
    auto made = node(Kind::Test, line, nodes(std::move(subject)));
    made->text = expectAnyName();
    const Token& next = current();
    const bool isOther = next.isName("else") || next.isName("or") || next.isName("and");
    if (next.isSign("(")) {
        made->arguments = parseArguments();
    } else if (next.isName("is")) {
        failAt(line, "tests cannot follow each other");
    } else if ((next.kind == Token::Kind::Name && !isOther) || next.kind == Token::Kind::Text ||
               next.kind == Token::Kind::Integer || next.kind == Token::Kind::Float ||
               next.isSign("[") || next.isSign("{")) {
        CallArgument argument;
        argument.value = parsePostfix(parsePrimary());
        made->arguments.push_back(std::move(argument));
    }
    return isNegated ? node(Kind::Not, line, nodes(std::move(made))) : std::move(made);
}

} // namespace kvscope::jinja
