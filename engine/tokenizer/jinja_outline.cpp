#include "engine/tokenizer/jinja_outline.h"

#include <algorithm>

namespace kvscope {
namespace {

constexpr std::string_view kSpaces = " \t\n\r";

bool isWordCharacter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string quoted(std::string_view literal)
{
    std::string text = "'";
    for (const char c : literal) {
        if (c == '\'' || c == '\\')
            text += '\\';
        text += c;
    }
    return text + "'";
}

struct Token
{
    enum class Kind { Word, Literal, Sign };
    Kind kind;
    std::string text;

    bool isSign(std::string_view sign) const { return kind == Kind::Sign && text == sign; }
};

/// Tokens in one spelling: words apart by a space, literals in single quotes, `a.b` as `a['b']`.
std::string spell(const std::vector<Token>& tokens)
{
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i].isSign(".") && i + 1 < tokens.size() &&
            tokens[i + 1].kind == Token::Kind::Word) {
            text += "[" + quoted(tokens[++i].text) + "]";
            continue;
        }
        const bool isSign = tokens[i].kind == Token::Kind::Sign;
        if (!text.empty() && !isSign && text.back() != '[')
            text += ' ';
        text += tokens[i].kind == Token::Kind::Literal ? quoted(tokens[i].text) : tokens[i].text;
    }
    return text;
}

/// Reads one template from front to back.
class OutlineReader
{
public:
    explicit OutlineReader(std::string_view source)
        : m_rest(source)
    {
        if (m_rest.ends_with('\n'))
            m_rest.remove_suffix(1); // as Jinja does unless told to keep it
    }

    std::optional<std::vector<JinjaNode>> read()
    {
        while (!m_rest.empty()) {
            const std::size_t tag = nextTag();
            addText(m_rest.substr(0, tag), tag == m_rest.size() ? '\0' : m_rest[tag + 1],
                    m_rest.substr(tag).size() > 2 && m_rest[tag + 2] == '-');
            m_rest.remove_prefix(tag);
            if (!m_rest.empty() && !readTag())
                return std::nullopt;
        }
        return std::move(m_nodes);
    }

private:
    enum class After { Nothing, Output, Block, Stripped }; ///< what came before the text at hand

    std::size_t nextTag() const
    {
        for (std::size_t at = 0; at + 1 < m_rest.size(); ++at) {
            const char second = m_rest[at + 1];
            if (m_rest[at] == '{' && (second == '{' || second == '%' || second == '#'))
                return at;
        }
        return m_rest.size();
    }

    /// Adds the text between two tags, less what the tags strip.
    /// \param next  the second character of the tag that follows, 0 at the end
    void addText(std::string_view text, char next, bool nextStrips)
    {
        bool isLineStart = m_after == After::Nothing;
        if (m_after == After::Stripped) {
            text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
        } else if (m_after == After::Block && text.starts_with('\n')) {
            text.remove_prefix(1); // trim_blocks
            isLineStart = true;
        }
        if (nextStrips) {
            const std::size_t last = text.find_last_not_of(kSpaces);
            text = text.substr(0, last == text.npos ? 0 : last + 1);
        } else if (next == '%' || next == '#') {
            const std::size_t last = text.find_last_not_of(" \t"); // lstrip_blocks
            if (last == text.npos ? isLineStart : text[last] == '\n')
                text = text.substr(0, last == text.npos ? 0 : last + 1);
        }
        addOutput({true, std::string(text)});
    }

    void addOutput(JinjaPart part)
    {
        if (part.isLiteral && part.text.empty())
            return;
        if (m_nodes.empty() || m_nodes.back().isStatement)
            m_nodes.push_back({});
        auto& parts = m_nodes.back().parts;
        if (part.isLiteral && !parts.empty() && parts.back().isLiteral)
            parts.back().text += part.text;
        else
            parts.push_back(std::move(part));
    }

    /// Reads the tag that m_rest begins with. \return false where it is damaged or not read here
    bool readTag()
    {
        const char kind = m_rest[1];
        m_rest.remove_prefix(2);
        if (m_rest.starts_with('+'))
            return false;
        if (m_rest.starts_with('-'))
            m_rest.remove_prefix(1);
        if (kind == '#')
            return skipComment();
        m_after = kind == '%' ? After::Block : After::Output;
        std::vector<Token> tokens;
        if (!readTokens(kind == '%' ? "%}" : "}}", tokens) || tokens.empty())
            return false;
        if (kind == '%')
            m_nodes.push_back({true, {{false, spell(tokens)}}});
        else
            addExpression(tokens);
        return true;
    }

    bool skipComment()
    {
        const std::size_t end = m_rest.find("#}");
        if (end == m_rest.npos)
            return false;
        m_after = end > 0 && m_rest[end - 1] == '-' ? After::Stripped : After::Block;
        m_rest.remove_prefix(end + 2);
        return true;
    }

    /// Adds an output's terms, cut at every `+`. A term that is more than one literal stays as
    /// written.
    void addExpression(const std::vector<Token>& tokens)
    {
        for (auto begin = tokens.begin();;) {
            const auto end = std::find_if(begin, tokens.end(),
                                          [](const Token& token) { return token.isSign("+"); });
            const std::vector<Token> term(begin, end);
            if (term.size() == 1 && term.front().kind == Token::Kind::Literal)
                addOutput({true, term.front().text});
            else
                addOutput({false, spell(term)});
            if (end == tokens.end())
                return;
            begin = end + 1;
        }
    }

    bool readTokens(std::string_view close, std::vector<Token>& tokens)
    {
        while (!m_rest.empty()) {
            const char c = m_rest.front();
            if (m_rest.starts_with(close)) {
                m_rest.remove_prefix(close.size());
                return true;
            }
            if (c == '-' && m_rest.substr(1).starts_with(close)) {
                m_rest.remove_prefix(1 + close.size());
                m_after = After::Stripped;
                return true;
            }
            if (kSpaces.find(c) != kSpaces.npos) {
                m_rest.remove_prefix(1);
            } else if (c == '\'' || c == '"') {
                auto literal = readLiteral();
                if (!literal)
                    return false;
                tokens.push_back({Token::Kind::Literal, std::move(*literal)});
            } else {
                tokens.push_back(readWordOrSign());
            }
        }
        return false;
    }

    Token readWordOrSign()
    {
        const auto end = std::find_if_not(m_rest.begin(), m_rest.end(), isWordCharacter);
        const auto length =
            std::max<std::size_t>(1, static_cast<std::size_t>(end - m_rest.begin()));
        const auto kind = end == m_rest.begin() ? Token::Kind::Sign : Token::Kind::Word;
        Token token{kind, std::string(m_rest.substr(0, length))};
        m_rest.remove_prefix(length);
        return token;
    }

    std::optional<std::string> readLiteral()
    {
        const char quote = m_rest.front();
        std::string text;
        for (std::size_t at = 1; at < m_rest.size(); ++at) {
            char c = m_rest[at];
            if (c == quote) {
                m_rest.remove_prefix(at + 1);
                return text;
            }
            if (c == '\\') {
                if (++at == m_rest.size())
                    break;
                c = m_rest[at];
                if (c == 'n' || c == 't')
                    c = c == 'n' ? '\n' : '\t';
                else if (c != '\'' && c != '"' && c != '\\')
                    break;
            }
            text += c;
        }
        return std::nullopt;
    }

    std::string_view m_rest;
    After m_after = After::Nothing;
    std::vector<JinjaNode> m_nodes;
};

} // namespace

std::optional<std::vector<JinjaNode>> outlineJinja(std::string_view source)
{
    return OutlineReader(source).read();
}

} // namespace kvscope
