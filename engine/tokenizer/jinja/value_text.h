#pragma once

#include "engine/tokenizer/jinja/budget.h"
#include "engine/tokenizer/jinja/value.h"

#include <string>
#include <string_view>

namespace kvscope::jinja {

/// A text that is charged for as it grows.
class TextBuilder
{
public:
    explicit TextBuilder(Budget& budget)
        : m_budget(budget)
    {
    }
    void add(std::string_view text)
    {
        m_budget.bytes(text.size());
        m_text.append(text);
    }
    /// `unit`, `count` times; charged before anything is made.
    void addRepeated(std::string_view unit, std::uint64_t count);
    std::string take() { return std::move(m_text); }
    Value takeValue() { return Value::text(take()); }
    Budget& budget() { return m_budget; }

private:
    Budget& m_budget;
    std::string m_text;
};

/// A float as Python writes it: the fewest digits that read back as the same.
std::string floatText(double value);
/// A Python literal of `text`: 'it', "it's".
std::string quotedText(std::string_view text);

/// str(value).
void addText(TextBuilder& out, const Value& value);
std::string toText(Budget& budget, const Value& value);
/// repr(value).
void addRepr(TextBuilder& out, const Value& value);

struct JsonStyle
{
    bool isAscii = false;   ///< \uXXXX for what is not
    bool hasIndent = false; ///< one item a line
    std::string indent;     ///< of one level
    std::string comma;      ///< between items
    std::string colon;      ///< after keys
    bool sortsKeys = false;
};
/// json.dumps. \throws TemplateError for what JSON has no form for
void addJson(TextBuilder& out, const Value& value, const JsonStyle& style);

} // namespace kvscope::jinja
