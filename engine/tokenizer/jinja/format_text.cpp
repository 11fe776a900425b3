#include "engine/tokenizer/jinja/format_text.h"

#include "engine/tokenizer/jinja/format_spec.h"
#include "engine/tokenizer/jinja/subscript.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/unicode_text.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <algorithm>
#include <cmath>

namespace kvscope::jinja {
namespace {

/// `text % values`, from front to back.
class PercentFormatter
{
public:
    PercentFormatter(Run& run, std::string_view text, const Value& values)
        : m_run(run)
        , m_text(text)
        , m_values(values)
        , m_out(run.budget)
    {
        const auto* sequence = values.asSequence();
        if (sequence != nullptr && sequence->kind == Sequence::Kind::Tuple)
            m_tuple = sequence;
    }

    Value format()
    {
        while (m_at < m_text.size()) {
            const std::size_t sign = std::min(m_text.find('%', m_at), m_text.size());
            m_out.add(m_text.substr(m_at, sign - m_at));
            m_at = sign + 1;
            if (sign < m_text.size())
                addField();
        }
        const std::size_t given = m_tuple != nullptr ? m_tuple->items.size() : 1;
        const bool isTaken = m_tuple == nullptr && // as in Python, where a list could be a mapping
                             (m_values.asDict() != nullptr || m_values.asSequence() != nullptr);
        if (m_used < given && !isTaken)
            fail("not all values are used by the format");
        return m_out.takeValue();
    }

private:
    char peek() const { return m_at < m_text.size() ? m_text[m_at] : '\0'; }

    Value next()
    {
        const std::size_t index = m_used++;
        if (m_tuple != nullptr) {
            if (index >= m_tuple->items.size())
                fail("there are too few values for the format");
            return m_tuple->items[index];
        }
        if (index > 0)
            fail("there are too few values for the format");
        return m_values;
    }

    Value named()
    {
        const std::size_t end = m_text.find(')', m_at);
        const auto* dict = m_values.asDict();
        if (end == m_text.npos || dict == nullptr)
            fail("a format with names needs a dict");
        const Value* value = dict->find(m_run.budget, m_text.substr(m_at + 1, end - m_at - 1));
        if (value == nullptr)
            fail("the format's dict lacks a name");
        m_at = end + 1;
        return *value;
    }

    void addField()
    {
        m_run.budget.step();
        if (peek() == '%') {
            m_out.add("%");
            ++m_at;
            return;
        }
        std::optional<Value> value;
        if (peek() == '(')
            value = named();
        FormatSpec spec;
        spec.align = '>';
        readFlags(spec);
        spec.width = takeNumber(m_text, m_at);
        if (peek() == '.')
            spec.precision = takeNumber(m_text, ++m_at);
        const char type = peek();
        ++m_at;
        addValue(spec, type, value ? *value : next());
    }

    void readFlags(FormatSpec& spec)
    {
        constexpr std::string_view kFlags = "-+ 0";
        for (char flag = peek(); flag != '\0' && kFlags.find(flag) != kFlags.npos; flag = peek()) {
            if (flag == '-')
                spec.align = '<';
            else if (flag == '0')
                m_hasZeros = spec.align != '<';
            else
                spec.sign = flag;
            ++m_at;
        }
        if (std::exchange(m_hasZeros, false) && spec.align != '<') {
            spec.align = '=';
            spec.fill = "0";
        }
    }

    void addValue(FormatSpec spec, char type, const Value& value)
    {
        if (type == 's' || type == 'r') {
            spec.fill = " ";
            spec.align = spec.align == '=' ? '>' : spec.align;
            TextBuilder text(m_run.budget);
            type == 's' ? addText(text, value) : addRepr(text, value);
            m_out.add(*formatted(m_run, spec, text.takeValue()).asText());
            return;
        }
        constexpr std::string_view kTypes = "difFegxXo";
        if (type == '\0' || kTypes.find(type) == kTypes.npos || !value.isNumber())
            fail("the format '%" + std::string(1, type == '\0' ? ' ' : type) + "' for a '" +
                 std::string(value.typeName()) + "' is not read here");
        spec.type = type == 'i' ? 'd' : type;
        const bool isWhole = type == 'd' || type == 'i';
        m_out.add(*formatted(m_run, spec, isWhole ? whole(value) : value).asText());
    }

    static Value whole(const Value& value)
    {
        if (!value.isFloat())
            return Value::integer(*value.asInteger());
        const double number = std::trunc(*value.asNumber());
        if (!(std::abs(number) < 9.2e18))
            fail("a whole number goes beyond 64 bits");
        return Value::integer(static_cast<std::int64_t>(number));
    }

    Run& m_run;
    std::string_view m_text;
    const Value& m_values;
    const Sequence* m_tuple = nullptr;
    TextBuilder m_out;
    std::size_t m_at = 0;
    std::size_t m_used = 0;
    bool m_hasZeros = false;
};

/// text.format(...), from front to back.
class BraceFormatter
{
public:
    BraceFormatter(Run& run, std::string_view text, const Arguments& arguments)
        : m_run(run)
        , m_text(text)
        , m_arguments(arguments)
        , m_out(run.budget)
    {
    }

    Value format()
    {
        while (m_at < m_text.size()) {
            const std::size_t brace = std::min(m_text.find_first_of("{}", m_at), m_text.size());
            m_out.add(m_text.substr(m_at, brace - m_at));
            m_at = brace;
            if (brace < m_text.size())
                addBrace();
        }
        return m_out.takeValue();
    }

private:
    void addBrace()
    {
        m_run.budget.step();
        if (m_at + 1 < m_text.size() && m_text[m_at + 1] == m_text[m_at]) {
            m_out.add(m_text.substr(m_at, 1));
            m_at += 2;
            return;
        }
        const std::size_t end = m_text.find('}', m_at);
        if (m_text[m_at] == '}' || end == m_text.npos)
            fail("a format has a single brace");
        addField(m_text.substr(m_at + 1, end - m_at - 1));
        m_at = end + 1;
    }

    void addField(std::string_view field)
    {
        if (field.find('{') != field.npos)
            fail("a format inside a format is not read here");
        const std::size_t colon = std::min(field.find(':'), field.size());
        std::string_view path = field.substr(0, colon);
        const std::string_view spec = field.substr(std::min(colon + 1, field.size()));
        char conversion = '\0';
        if (path.size() >= 2 && path[path.size() - 2] == '!') {
            conversion = path.back();
            path.remove_suffix(2);
        }
        Value value = valueOf(path);
        if (conversion == 's' || conversion == 'r') {
            TextBuilder text(m_run.budget);
            conversion == 's' ? addText(text, value) : addRepr(text, value);
            value = text.takeValue();
        } else if (conversion != '\0') {
            fail("this conversion in a format is not read here");
        }
        m_out.add(*formatted(m_run, parseFormatSpec(spec), value).asText());
    }

    /// `0`, `name`, `name.attribute`, `0[key]`, or the next one.
    Value valueOf(std::string_view path)
    {
        const std::size_t end = std::min(path.find_first_of(".["), path.size());
        Value value = argument(path.substr(0, end));
        path.remove_prefix(end);
        while (!path.empty()) {
            m_run.budget.step();
            const bool isItem = path.front() == '[';
            path.remove_prefix(1);
            const std::size_t next =
                std::min(isItem ? path.find(']') : path.find_first_of(".["), path.size());
            const std::string name(path.substr(0, next));
            value = isItem ? itemOf(m_run, value, key(name)) : attributeOf(m_run, value, name);
            path.remove_prefix(std::min(next + (isItem ? 1 : 0), path.size()));
        }
        return value;
    }

    static bool isNumber(std::string_view text)
    {
        return !text.empty() &&
               std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    }

    static Value key(const std::string& name)
    {
        std::size_t at = 0;
        return isNumber(name) ? Value::integer(takeNumber(name, at)) : Value::text(name);
    }

    Value argument(std::string_view name)
    {
        if (!name.empty() && !isNumber(name)) {
            for (const auto& [known, value] : m_arguments.named) {
                if (known == name)
                    return value;
            }
            fail("the format's '" + std::string(name) + "' is not given");
        }
        std::size_t at = 0;
        const auto index = name.empty() ? m_next++ : static_cast<std::size_t>(takeNumber(name, at));
        if (index >= m_arguments.positional.size())
            fail("there are too few values for the format");
        return m_arguments.positional[index];
    }

    Run& m_run;
    std::string_view m_text;
    const Arguments& m_arguments;
    TextBuilder m_out;
    std::size_t m_at = 0;
    std::size_t m_next = 0;
};

} // namespace

Value formatPercent(Run& run, std::string_view text, const Value& values)
{
    return PercentFormatter(run, text, values).format();
}

Value formatBraces(Run& run, std::string_view text, const Arguments& arguments)
{
    return BraceFormatter(run, text, arguments).format();
}

} // namespace kvscope::jinja
