#include "engine/tokenizer/jinja/parser.h"

#include <algorithm>
#include <utility>

namespace kvscope::jinja {
namespace {

using Kind = Statement::Kind;

} // namespace

Statement Parser::parseMacro()
{
    Statement made;
    made.kind = Kind::Macro;
    made.macro = std::make_unique<MacroDefinition>();
    const Token name = current();
    made.name = assignable(name);
    made.macro->name = name.text;
    m_macros.push_back(made.macro.get());
    parseParameters(*made.macro);
    parseMacroBody(*made.macro, {"endmacro"});
    return made;
}

Statement Parser::parseCallBlock()
{
    Statement made;
    made.kind = Kind::Call;
    made.macro = std::make_unique<MacroDefinition>();
    made.macro->name = "caller";
    if (current().isSign("(")) {
        m_macros.push_back(made.macro.get());
        parseParameters(*made.macro);
        m_macros.pop_back();
    }
    made.value = parsePostfix(parsePrimary());
    if (made.value->kind != Expression::Kind::Call)
        failAt(current().line, "a call was expected");
    m_macros.push_back(made.macro.get());
    parseMacroBody(*made.macro, {"endcall"});
    return made;
}

void Parser::parseParameters(MacroDefinition& macro)
{
    expectSign("(");
    while (!current().isSign(")")) {
        MacroDefinition::Parameter parameter;
        parameter.name = assignable(current());
        if (takeSign("="))
            parameter.standard = parseExpression();
        else if (!macro.parameters.empty() && macro.parameters.back().standard != nullptr)
            failAt(current().line, "a parameter without a default follows one with a default");
        macro.parameters.push_back(std::move(parameter));
        if (!takeSign(","))
            break;
    }
    expectSign(")");
}

/// The body of the innermost of m_macros, which is taken off.
void Parser::parseMacroBody(MacroDefinition& macro, EndWords ends)
{
    const int loops = std::exchange(m_loops, 0);
    macro.body = parseBodyOfBlock(ends);
    take();
    m_loops = loops;
    m_macros.pop_back();
    if (!m_macros.empty()) { // a macro inside speaks for the one around it too
        MacroDefinition& outer = *m_macros.back();
        outer.usesCaller |= macro.usesCaller;
        outer.usesExtra |= macro.usesExtra;
        outer.usesExtraNamed |= macro.usesExtraNamed;
    }
}

NameId Parser::assignable(const Token& token)
{
    static constexpr std::string_view kConstants[] = {"true", "false", "none",
                                                      "True", "False", "None"};
    const Token name = token; // take() may move what `token` refers to
    if (name.kind != Token::Kind::Name ||
        std::ranges::find(kConstants, name.text) != std::end(kConstants))
        failAt(name.line, "a name to assign to was expected");
    take();
    return idOf(name.text);
}

Target Parser::parseOneTarget(bool mayBeAttribute)
{
    const Level level(*this);
    Target target;
    if (takeSign("(")) {
        target = parseTarget({}, mayBeAttribute);
        expectSign(")");
        return target;
    }
    target.name = assignable(current());
    if (mayBeAttribute && takeSign(".")) {
        target.kind = Target::Kind::NamespaceAttribute;
        target.attribute = expectAnyName();
    }
    return target;
}

Target Parser::parseTarget(EndWords ends, bool mayBeAttribute)
{
    Target tuple;
    tuple.kind = Target::Kind::Tuple;
    bool isTuple = false;
    do {
        const bool isEnd = isTupleEnd() || std::ranges::any_of(ends, [this](std::string_view end) {
                               return current().isName(end) || current().isSign(end);
                           });
        if (isEnd && isTuple)
            break;
        tuple.parts.push_back(parseOneTarget(mayBeAttribute));
        isTuple |= current().isSign(",");
    } while (takeSign(","));
    return isTuple ? std::move(tuple) : std::move(tuple.parts.front());
}

} // namespace kvscope::jinja
