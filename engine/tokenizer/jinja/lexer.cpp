#include "engine/tokenizer/jinja/lexer.h"

#include "engine/tokenizer/jinja/budget.h"
#include "engine/tokenizer/jinja/string_literal.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/unicode_text.h"

#include <algorithm>
#include <array>

namespace kvscope::jinja {
namespace {

using Kind = Token::Kind;

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

bool isNameCharacter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) || c == '_';
}

/// Line breaks as '\n', and without the one at the end, as Jinja reads a template.
std::string normalized(std::string_view source)
{
    std::string text;
    text.reserve(source.size());
    for (std::size_t at = 0; at < source.size(); ++at) {
        const bool isReturn = source[at] == '\r';
        if (isReturn && at + 1 < source.size() && source[at + 1] == '\n')
            continue;
        text += isReturn ? '\n' : source[at];
    }
    if (text.ends_with('\n'))
        text.pop_back();
    return text;
}

class Lexer
{
public:
    explicit Lexer(std::string_view source)
        : m_source(source)
    {
    }

    std::vector<Token> read()
    {
        while (m_at < m_source.size())
            readDataAndTag();
        add(Kind::End, {});
        return std::move(m_tokens);
    }

private:
    [[noreturn]] void failAt(const std::string& words) const
    {
        throw TemplateError(TemplateError::Reason::Syntax, words, m_line);
    }

    std::string_view rest() const { return m_source.substr(m_at); }

    /// Moves past `count` bytes and counts their lines.
    void skip(std::size_t count)
    {
        m_line += static_cast<int>(std::ranges::count(m_source.substr(m_at, count), '\n'));
        m_at += count;
    }

    bool skipIf(std::string_view text)
    {
        if (!rest().starts_with(text))
            return false;
        skip(text.size());
        return true;
    }

    void skipSpace() { skip(rest().size() - stripped(rest(), Sides::Left).size()); }

    void add(Kind kind, std::string text) { m_tokens.push_back({kind, std::move(text), m_line}); }

    std::size_t nextTag() const
    {
        for (std::size_t at = m_at; at + 1 < m_source.size(); ++at) {
            const char second = m_source[at + 1];
            if (m_source[at] == '{' && (second == '{' || second == '%' || second == '#'))
                return at;
        }
        return m_source.size();
    }

    void addData(std::string_view data)
    {
        if (!data.empty())
            add(Kind::Data, std::string(data));
    }

    /// Text before a tag, less what the tag's sign or lstrip_blocks takes of it.
    static std::string_view beforeTag(std::string_view data, char kind, char sign, bool isLineStart)
    {
        if (sign == '-')
            return stripped(data, Sides::Right);
        if (sign == '+' || kind == '{')
            return data;
        const std::size_t lineBegin = data.rfind('\n') + 1; // 0 where there is none
        const bool isBlank = stripped(data.substr(lineBegin), Sides::Left).empty();
        return isBlank && (lineBegin > 0 || isLineStart) ? data.substr(0, lineBegin) : data;
    }

    void readDataAndTag()
    {
        const std::size_t tag = nextTag();
        const std::string_view data = m_source.substr(m_at, tag - m_at);
        if (tag == m_source.size()) {
            addData(data);
            m_at = tag;
            return;
        }
        const char kind = m_source[tag + 1];
        const char next = tag + 2 < m_source.size() ? m_source[tag + 2] : '\0';
        const char sign = next == '-' || next == '+' ? next : '\0';
        addData(beforeTag(data, kind, sign, m_isLineStart));
        m_isLineStart = false;
        skip(data.size() + 2 + (sign == '\0' ? 0 : 1));
        if (kind == '#')
            skipComment();
        else if (kind == '{')
            readTag(Kind::OutputBegin, Kind::OutputEnd);
        else if (!readRaw())
            readTag(Kind::BlockBegin, Kind::BlockEnd);
    }

    /// After a block's or comment's closing sign: '-' takes all space, otherwise a line break goes.
    void endBlock(char sign)
    {
        const std::size_t begin = m_at;
        if (sign == '-')
            skipSpace();
        else if (sign != '+')
            skipIf("\n");
        m_isLineStart = m_at > begin && m_source[m_at - 1] == '\n';
    }

    void skipComment()
    {
        const std::size_t end = m_source.find("#}", m_at);
        if (end == m_source.npos && m_at == m_source.size())
            return; // as Jinja has it
        if (end == m_source.npos)
            failAt("a comment has no end");
        const char sign = end > m_at ? m_source[end - 1] : '\0';
        skip(end + 2 - m_at);
        endBlock(sign);
    }

    /// The word of a block at byte `at`, after spaces. \return where it ends, or npos
    std::size_t afterWord(std::size_t at, std::string_view word) const
    {
        std::string_view text = stripped(m_source.substr(at), Sides::Left);
        if (!text.starts_with(word))
            return text.npos;
        text = stripped(text.substr(word.size()), Sides::Left);
        return m_source.size() - text.size();
    }

    /// `{% raw %}...{% endraw %}` after its `{%`. \return false where it is another block
    bool readRaw()
    {
        const std::size_t end = afterWord(m_at, "raw");
        if (end == m_source.npos)
            return false;
        const std::string_view text = m_source.substr(end);
        if (!text.starts_with("%}") && !text.starts_with("-%}"))
            return false;
        skip(end - m_at);
        const bool isStripped = skipIf("-");
        skip(2);
        if (isStripped)
            skipSpace();
        const bool isLineStart = isStripped && m_source[m_at - 1] == '\n';
        for (std::size_t at = m_source.find("{%", m_at); at != m_source.npos;
             at = m_source.find("{%", at + 2)) {
            if (endRaw(at, isLineStart))
                return true;
        }
        if (m_at < m_source.size()) // at the very end Jinja does not mind
            failAt("a raw block has no end");
        return true;
    }

    bool endRaw(std::size_t at, bool isLineStart)
    {
        const char next = at + 2 < m_source.size() ? m_source[at + 2] : '\0';
        const char sign = next == '-' || next == '+' ? next : '\0';
        const std::size_t end = afterWord(at + (sign == '\0' ? 2 : 3), "endraw");
        if (end == m_source.npos)
            return false;
        const char closing = end < m_source.size() ? m_source[end] : '\0';
        const std::size_t length = closing == '-' || closing == '+' ? 1 : 0;
        if (!m_source.substr(end + length).starts_with("%}"))
            return false;
        addData(beforeTag(m_source.substr(m_at, at - m_at), '%', sign, isLineStart));
        skip(end + length + 2 - m_at);
        endBlock(closing);
        return true;
    }

    /// The inside of a tag and its end.
    void readTag(Kind begin, Kind end)
    {
        add(begin, {});
        const int line = m_line;
        while (m_at < m_source.size()) {
            skipSpace();
            if (m_brackets.empty() && readTagEnd(end))
                return;
            readToken();
        }
        m_line = line;
        failAt("a tag has no end");
    }

    bool readTagEnd(Kind end)
    {
        const std::string_view text = rest();
        const std::string_view closing = end == Kind::OutputEnd ? "}}" : "%}";
        const bool hasSign = text.starts_with('-') || (text.starts_with('+') && closing == "%}");
        if (!text.substr(hasSign ? 1 : 0).starts_with(closing))
            return false;
        const char sign = hasSign ? text.front() : '\0';
        add(end, {});
        skip((hasSign ? 1 : 0) + closing.size());
        if (closing == "%}")
            endBlock(sign);
        else if (sign == '-')
            endBlock(sign);
        return true;
    }

    void readToken()
    {
        if (m_at >= m_source.size())
            return;
        const char c = m_source[m_at];
        if (c == '\'' || c == '"')
            readText(c);
        else if (isDigit(c))
            readNumber();
        else if (isNameCharacter(c))
            readName();
        else
            readSign();
    }

    void readName()
    {
        const auto text = rest();
        const auto end = std::ranges::find_if_not(text, isNameCharacter);
        const auto length = static_cast<std::size_t>(end - text.begin());
        add(Kind::Name, std::string(text.substr(0, length)));
        skip(length);
    }

    void readText(char quote)
    {
        std::size_t end = m_at + 1;
        while (end < m_source.size() && m_source[end] != quote)
            end += m_source[end] == '\\' ? 2 : 1;
        if (end >= m_source.size())
            failAt("a text in quotes has no end");
        try {
            add(Kind::Text, unescaped(m_source.substr(m_at + 1, end - m_at - 1)));
        } catch (const TemplateError& error) {
            failAt(error.words());
        }
        skip(end + 1 - m_at);
    }

    void readNumber()
    {
        const bool isAfterPoint = m_at > 0 && m_source[m_at - 1] == '.';
        const NumberLiteral number = readNumberLiteral(rest(), isAfterPoint);
        add(number.isFloat ? Kind::Float : Kind::Integer, number.text);
        skip(number.length);
    }

    void readSign()
    {
        constexpr std::array<std::string_view, 26> kSigns = {
            "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
            "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
        const auto found = std::ranges::find_if(
            kSigns, [this](std::string_view sign) { return rest().starts_with(sign); });
        if (found == kSigns.end())
            failAt("unexpected character '" +
                   std::string(rest().substr(0, codePointAt(rest(), 0).bytes)) + "'");
        balance(found->front());
        add(Kind::Sign, std::string(*found));
        skip(found->size());
    }

    void balance(char c)
    {
        constexpr std::string_view kOpening = "([{";
        constexpr std::string_view kClosing = ")]}";
        if (const std::size_t opening = kOpening.find(c); opening != kOpening.npos) {
            m_brackets += kClosing[opening];
        } else if (kClosing.find(c) != kClosing.npos) {
            if (!m_brackets.ends_with(c))
                failAt(std::string("unexpected '") + c + "'");
            m_brackets.pop_back();
        }
    }

    std::string_view m_source;
    std::size_t m_at = 0;
    int m_line = 1;
    bool m_isLineStart = true; ///< what lstrip_blocks looks at where the text has no line break
    std::string m_brackets;    ///< that close those open in the tag at hand
    std::vector<Token> m_tokens;
};

} // namespace

std::vector<Token> tokenize(std::string_view source)
{
    if (source.size() > limits::kSourceBytes)
        throw TemplateError(TemplateError::Reason::Limit, "it is longer than any chat template");
    const std::string text = normalized(source);
    return Lexer(text).read();
}

} // namespace kvscope::jinja
