#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/unicode_text.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace kvscope::jinja {
namespace {

void addUnit(std::string& out, unsigned unit)
{
    std::array<char, 8> escape{};
    std::snprintf(escape.data(), escape.size(), "\\u%04x", unit);
    out += escape.data();
}

void addCharacter(std::string& out, std::string_view character, bool isAscii)
{
    const char32_t c = codePointAt(character, 0).value;
    constexpr std::string_view kShort = "\"\\\n\r\t\b\f";
    constexpr std::string_view kLetters = "\"\\nrtbf";
    const std::size_t known = c < 0x80 ? kShort.find(static_cast<char>(c)) : kShort.npos;
    if (known != kShort.npos)
        out.append("\\").append(1, kLetters[known]);
    else if (c < 0x20)
        addUnit(out, static_cast<unsigned>(c));
    else if (!isAscii || c < 0x80 || c > 0x10FFFF)
        out.append(character);
    else if (c < 0x10000)
        addUnit(out, static_cast<unsigned>(c));
    else {
        addUnit(out, static_cast<unsigned>(0xD800 + ((c - 0x10000) >> 10)));
        addUnit(out, static_cast<unsigned>(0xDC00 + ((c - 0x10000) & 0x3FF)));
    }
}

void addJsonText(TextBuilder& out, std::string_view text, bool isAscii)
{
    out.budget().bytes(2 * text.size()); // the copy made before it is added
    std::string escaped = "\"";
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t bytes = codePointAt(text, at).bytes;
        addCharacter(escaped, text.substr(at, bytes), isAscii);
        at += bytes;
    }
    out.add(escaped += '"');
}

std::string jsonNumber(double value)
{
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value < 0 ? "-Infinity" : "Infinity";
    return floatText(value);
}

std::string jsonScalar(const Value& value)
{
    if (value.isNone())
        return "null";
    if (value.isBoolean())
        return value.isTrue() ? "true" : "false";
    if (value.isFloat())
        return jsonNumber(*value.asNumber());
    if (const auto integer = value.asInteger())
        return std::to_string(*integer);
    fail("a value of type '" + std::string(value.typeName()) + "' has no form in JSON");
}

class JsonWriter
{
public:
    JsonWriter(TextBuilder& out, const JsonStyle& style)
        : m_out(out)
        , m_style(style)
    {
    }

    void add(const Value& value, int level)
    {
        m_out.budget().step();
        const DepthGuard guard(m_out.budget());
        if (const auto* text = value.asText())
            addJsonText(m_out, *text, m_style.isAscii);
        else if (const auto* dict = value.asDict())
            addDict(*dict, level);
        else if (const auto* sequence = listed(value))
            addList(*sequence, level);
        else
            m_out.add(jsonScalar(value));
    }

private:
    static const Sequence* listed(const Value& value)
    {
        const auto* sequence = value.asSequence();
        const bool isList = sequence != nullptr && (sequence->kind == Sequence::Kind::List ||
                                                    sequence->kind == Sequence::Kind::Tuple);
        return isList ? sequence : nullptr;
    }

    void addBreak(int level)
    {
        if (!m_style.hasIndent)
            return;
        m_out.add("\n");
        m_out.addRepeated(m_style.indent, static_cast<std::uint64_t>(level));
    }

    void addList(const Sequence& list, int level)
    {
        m_out.add("[");
        for (std::size_t i = 0; i < list.items.size(); ++i) {
            if (i > 0)
                m_out.add(m_style.comma);
            addBreak(level + 1);
            add(list.items[i], level + 1);
        }
        if (!list.items.empty())
            addBreak(level);
        m_out.add("]");
    }

    void addDict(const Dict& dict, int level)
    {
        auto entries = dict.entries();
        m_out.budget().items(entries.size());
        if (m_style.sortsKeys)
            sort(entries);
        m_out.add("{");
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (i > 0)
                m_out.add(m_style.comma);
            addBreak(level + 1);
            addJsonText(m_out, key(entries[i].first), m_style.isAscii);
            m_out.add(m_style.colon);
            add(entries[i].second, level + 1);
        }
        if (!entries.empty())
            addBreak(level);
        m_out.add("}");
    }

    void sort(std::vector<Dict::Entry>& entries)
    {
        for (const auto& entry : entries) // each key is copied for every comparison
            m_out.budget().step(key(entry.first).size() + 64);
        std::ranges::stable_sort(entries, {}, [](const Dict::Entry& e) { return key(e.first); });
    }

    static std::string key(const Value& value)
    {
        const auto* text = value.asText();
        return text != nullptr ? *text : jsonScalar(value);
    }

    TextBuilder& m_out;
    const JsonStyle& m_style;
};

} // namespace

void addJson(TextBuilder& out, const Value& value, const JsonStyle& style)
{
    JsonWriter(out, style).add(value, 0);
}

} // namespace kvscope::jinja
