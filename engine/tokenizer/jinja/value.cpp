#include "engine/tokenizer/jinja/value.h"

#include "engine/tokenizer/jinja/budget.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <algorithm>
#include <cmath>

namespace kvscope::jinja {
namespace {

constexpr std::size_t kLinearEntries = 16; ///< a dict of more is looked up by an index

/// \throws TemplateError where `inner` may not be put into anything more
std::size_t deeper(std::size_t outer, const Value& inner)
{
    const std::size_t depth = std::max(outer, inner.depth() + 1);
    if (depth > limits::kValueDepth)
        throw TemplateError(TemplateError::Reason::Limit, "it nests lists too deep");
    return depth;
}

std::string keyTextAt(Budget& budget, const Value& key, int depth)
{
    if (const auto* text = key.asText()) {
        budget.scan(text->size());
        return "s" + *text;
    }
    if (const auto integer = key.asInteger())
        return "n" + std::to_string(*integer);
    if (const auto number = key.asNumber()) {
        const bool isWhole = std::trunc(*number) == *number && std::abs(*number) < 9e15;
        return "n" +
               (isWhole ? std::to_string(static_cast<std::int64_t>(*number)) : floatText(*number));
    }
    if (key.isNone() || key.isUndefined())
        return key.isNone() ? "0" : "u";
    const Sequence* sequence = key.asSequence();
    if (sequence == nullptr || sequence->kind != Sequence::Kind::Tuple || depth > 2)
        fail("a value of type '" + std::string(key.typeName()) + "' cannot be a key");
    std::string text = "t" + std::to_string(sequence->items.size());
    for (const Value& item : sequence->items) {
        const std::string inner = keyTextAt(budget, item, depth + 1);
        budget.scan(inner.size());
        text += ":" + std::to_string(inner.size()) + ":" + inner;
    }
    return text;
}

} // namespace

std::string keyText(Budget& budget, const Value& key)
{
    return keyTextAt(budget, key, 0);
}

std::string clipped(std::string_view name)
{
    constexpr std::size_t kShown = 100;
    return name.size() <= kShown ? std::string(name) : std::string(name.substr(0, kShown)) + "...";
}

Value Value::undefined(std::string hint)
{
    return Value(Undefined{std::make_shared<const std::string>(std::move(hint))});
}

Value Value::text(std::string value)
{
    return Value(std::make_shared<const std::string>(std::move(value)));
}

Value Value::sequence(Sequence value)
{
    value.depth = 1;
    for (const Value& item : value.items)
        value.depth = deeper(value.depth, item);
    return Value(std::make_shared<const Sequence>(std::move(value)));
}

Value Value::list(std::vector<Value> items)
{
    Sequence list;
    list.items = std::move(items);
    return sequence(std::move(list));
}

Value Value::tuple(std::vector<Value> items)
{
    Sequence tuple;
    tuple.kind = Sequence::Kind::Tuple;
    tuple.items = std::move(items);
    return sequence(std::move(tuple));
}

Value Value::dict(Dict value)
{
    return Value(std::make_shared<const Dict>(std::move(value)));
}

Value Value::object(std::shared_ptr<Object> value)
{
    return Value(std::move(value));
}

const std::string* Value::asText() const
{
    const auto* text = std::get_if<std::shared_ptr<const std::string>>(&m_value);
    return text == nullptr ? nullptr : text->get();
}

const Sequence* Value::asSequence() const
{
    const auto* sequence = std::get_if<std::shared_ptr<const Sequence>>(&m_value);
    return sequence == nullptr ? nullptr : sequence->get();
}

const Dict* Value::asDict() const
{
    const auto* dict = std::get_if<std::shared_ptr<const Dict>>(&m_value);
    return dict == nullptr ? nullptr : dict->get();
}

Object* Value::asObject() const
{
    const auto* object = objectPointer();
    return object == nullptr ? nullptr : object->get();
}

std::optional<std::int64_t> Value::asInteger() const
{
    if (const bool* value = std::get_if<bool>(&m_value))
        return *value ? 1 : 0;
    if (const auto* value = std::get_if<std::int64_t>(&m_value))
        return *value;
    return std::nullopt;
}

std::optional<double> Value::asNumber() const
{
    if (const auto* value = std::get_if<double>(&m_value))
        return *value;
    if (const auto value = asInteger())
        return static_cast<double>(*value);
    return std::nullopt;
}

bool Value::isTrue() const
{
    if (const auto number = asNumber())
        return *number != 0.0;
    if (const auto* text = asText())
        return !text->empty();
    if (const auto* sequence = asSequence())
        return sequence->kind == Sequence::Kind::Iterator || !sequence->items.empty();
    if (const auto* dict = asDict())
        return !dict->entries().empty();
    return asObject() != nullptr;
}

std::string_view Value::typeName() const
{
    if (isUndefined())
        return "Undefined";
    if (isNone())
        return "NoneType";
    if (isBoolean())
        return "bool";
    if (isFloat())
        return "float";
    if (asInteger())
        return "int";
    if (isText())
        return "str";
    if (asDict() != nullptr)
        return "dict";
    if (const auto* object = asObject())
        return object->typeName();
    switch (asSequence()->kind) {
    case Sequence::Kind::List:
        return "list";
    case Sequence::Kind::Tuple:
        return "tuple";
    case Sequence::Kind::Range:
        return "range";
    case Sequence::Kind::View:
        return asSequence()->label;
    case Sequence::Kind::Iterator:
        break;
    }
    return "generator";
}

std::string Value::undefinedHint() const
{
    const auto& hint = std::get<Undefined>(m_value).hint;
    return hint == nullptr ? "an undefined value is used" : *hint;
}

std::size_t Value::depth() const
{
    if (const auto* sequence = asSequence())
        return sequence->depth;
    if (const auto* dict = asDict())
        return dict->depth();
    if (const auto* object = asObject())
        return object->depth();
    return 0;
}

const std::vector<Value>& Sequence::take() const
{
    static const std::vector<Value> kNothing;
    if (kind != Kind::Iterator)
        return items;
    return std::exchange(isSpent, true) ? kNothing : items;
}

/// What comparing or hashing a key of that size costs.
void Dict::charge(Budget& budget, std::size_t keyBytes) const
{
    const std::size_t readings = m_entries.size() > kLinearEntries ? 2 : m_entries.size() + 1;
    budget.scan(keyBytes * readings);
}

std::optional<std::size_t> Dict::indexOf(std::string_view key) const
{
    if (m_entries.size() > kLinearEntries) {
        const auto found = m_index.find("s" + std::string(key));
        return found == m_index.end() ? std::nullopt : std::optional(found->second);
    }
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        const auto* text = m_entries[i].first.asText();
        if (text != nullptr && *text == key)
            return i;
    }
    return std::nullopt;
}

std::optional<std::size_t> Dict::indexOf(Budget& budget, const Value& key) const
{
    if (const auto* text = key.asText()) {
        charge(budget, text->size());
        return indexOf(*text);
    }
    const std::string wanted = keyText(budget, key);
    if (m_entries.size() > kLinearEntries) {
        const auto found = m_index.find(wanted);
        return found == m_index.end() ? std::nullopt : std::optional(found->second);
    }
    for (std::size_t i = 0; i < m_entries.size(); ++i)
        if (!m_entries[i].first.isText() && keyText(budget, m_entries[i].first) == wanted)
            return i;
    return std::nullopt;
}

void Dict::set(Budget& budget, Value key, Value value)
{
    const auto present = indexOf(budget, key);
    put(present ? &m_entries[*present].second : nullptr, std::move(key), std::move(value));
    if (present || m_entries.size() <= kLinearEntries)
        return;
    const std::size_t first = m_entries.size() == kLinearEntries + 1 ? 0 : m_entries.size() - 1;
    for (std::size_t i = first; i < m_entries.size(); ++i)
        m_index.emplace(keyText(budget, m_entries[i].first), i);
}

void Dict::set(Budget& budget, std::string key, Value value)
{
    set(budget, Value::text(std::move(key)), std::move(value));
}

void Dict::set(std::string_view name, Value value)
{
    Budget free(0);
    set(free, Value::text(std::string(name)), std::move(value));
}

void Dict::put(Value* present, Value key, Value value)
{
    m_depth = deeper(deeper(m_depth, key), value);
    if (present != nullptr)
        *present = std::move(value);
    else
        m_entries.emplace_back(std::move(key), std::move(value));
}

const Value* Dict::find(Budget& budget, const Value& key) const
{
    const auto index = indexOf(budget, key);
    return index ? &m_entries[*index].second : nullptr;
}

const Value* Dict::find(Budget& budget, std::string_view key) const
{
    charge(budget, key.size());
    const auto index = indexOf(key);
    return index ? &m_entries[*index].second : nullptr;
}

std::optional<Value> Object::attribute(Budget&, std::string_view) const
{
    return std::nullopt;
}

Value Object::call(const Arguments&)
{
    fail("a value of type '" + std::string(typeName()) + "' cannot be called");
}

std::string Object::text(Budget&) const
{
    return "<" + std::string(typeName()) + ">";
}

} // namespace kvscope::jinja
