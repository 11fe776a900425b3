#include "engine/tokenizer/jinja/value_text.h"

#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/unicode_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace kvscope::jinja {
namespace {

/// Digits and exponent of the shortest form that reads back as `value`, which is finite.
std::pair<std::string, int> shortestDigits(double value)
{
    std::array<char, 40> buffer{};
    const auto end =
        std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::scientific);
    const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
    const std::size_t e = text.find('e');
    std::string digits;
    for (const char c : text.substr(0, e)) {
        if (c != '.')
            digits += c;
    }
    return {digits, std::atoi(text.substr(e + 1).data())};
}

void addEscaped(std::string& out, std::string_view character, char quote)
{
    const CodePoint c = codePointAt(character, 0);
    std::array<char, 16> escape{};
    if (c.value == static_cast<unsigned char>(quote) || c.value == '\\')
        out.append("\\").append(character);
    else if (c.value == '\n' || c.value == '\r' || c.value == '\t')
        out.append(c.value == '\n' ? "\\n" : c.value == '\r' ? "\\r" : "\\t");
    else if (isPrintable(c.value) || c.value > 0x10FFFF)
        out.append(character);
    else {
        const char* form = c.value < 0x100 ? "\\x%02x" : c.value < 0x10000 ? "\\u%04x" : "\\U%08x";
        std::snprintf(escape.data(), escape.size(), form, static_cast<unsigned>(c.value));
        out += escape.data();
    }
}

void addItems(TextBuilder& out, const std::vector<Value>& items)
{
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0)
            out.add(", ");
        addRepr(out, items[i]);
    }
}

void addSequence(TextBuilder& out, const Sequence& sequence)
{
    switch (sequence.kind) {
    case Sequence::Kind::Range:
        out.add(sequence.label);
        return;
    case Sequence::Kind::Iterator:
        out.add("<" + sequence.label + ">");
        return;
    case Sequence::Kind::Tuple:
        out.add("(");
        addItems(out, sequence.items);
        out.add(sequence.items.size() == 1 ? ",)" : ")");
        return;
    case Sequence::Kind::View:
        out.add(sequence.label + "([");
        addItems(out, sequence.items);
        out.add("])");
        return;
    case Sequence::Kind::List:
        break;
    }
    out.add("[");
    addItems(out, sequence.items);
    out.add("]");
}

void addDict(TextBuilder& out, const Dict& dict)
{
    out.add("{");
    bool isFirst = true;
    for (const auto& [key, value] : dict.entries()) {
        if (!isFirst)
            out.add(", ");
        isFirst = false;
        addRepr(out, key);
        out.add(": ");
        addRepr(out, value);
    }
    out.add("}");
}

std::string scalarText(Budget& budget, const Value& value)
{
    if (value.isNone())
        return "None";
    if (value.isBoolean())
        return value.isTrue() ? "True" : "False";
    if (value.isFloat())
        return floatText(*value.asNumber());
    if (const auto integer = value.asInteger())
        return std::to_string(*integer);
    if (auto* object = value.asObject())
        return object->text(budget);
    return "Undefined";
}

} // namespace

void TextBuilder::addRepeated(std::string_view unit, std::uint64_t count)
{
    if (unit.empty())
        return;
    if (count > limits::kBytes * 64)
        m_budget.bytes(static_cast<std::size_t>(-1));
    m_budget.bytes(unit.size() * count);
    m_text.reserve(m_text.size() + unit.size() * count);
    for (; count > 0; --count)
        m_text.append(unit);
}

std::string floatText(double value)
{
    if (std::isnan(value))
        return "nan";
    const std::string sign = std::signbit(value) ? "-" : "";
    if (std::isinf(value))
        return sign + "inf";
    auto [digits, exponent] = shortestDigits(std::abs(value));
    const auto count = static_cast<int>(digits.size());
    if (exponent < -4 || exponent >= 16) { // the bounds of float.__repr__
        std::array<char, 16> tail{};
        std::snprintf(tail.data(), tail.size(), "e%c%02d", exponent < 0 ? '-' : '+',
                      std::abs(exponent));
        if (count > 1)
            digits.insert(1, ".");
        return sign + digits + tail.data();
    }
    if (exponent < 0)
        return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    if (count <= exponent + 1)
        return sign + digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') +
               ".0";
    digits.insert(static_cast<std::size_t>(exponent + 1), ".");
    return sign + digits;
}

std::string quotedText(std::string_view text)
{
    const bool isDouble = text.find('\'') != text.npos && text.find('"') == text.npos;
    const char quote = isDouble ? '"' : '\'';
    std::string out(1, quote);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t bytes = codePointAt(text, at).bytes;
        addEscaped(out, text.substr(at, bytes), quote);
        at += bytes;
    }
    return out += quote;
}

void addRepr(TextBuilder& out, const Value& value)
{
    out.budget().step();
    const DepthGuard guard(out.budget());
    if (const auto* text = value.asText()) {
        out.budget().bytes(4 * text->size()); // the copy made before it is added
        out.add(quotedText(*text));
    } else if (const auto* sequence = value.asSequence()) {
        addSequence(out, *sequence);
    } else if (const auto* dict = value.asDict()) {
        addDict(out, *dict);
    } else {
        out.add(scalarText(out.budget(), value));
    }
}

void addText(TextBuilder& out, const Value& value)
{
    if (const auto* text = value.asText())
        out.add(*text);
    else if (!value.isUndefined())
        addRepr(out, value);
}

std::string toText(Budget& budget, const Value& value)
{
    TextBuilder out(budget);
    addText(out, value);
    return out.take();
}

} // namespace kvscope::jinja
