#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace kvscope::jinja {

class Budget;
class Dict;
class Object;
struct Sequence;

/// A value as Python's: immutable but for objects, cheap to copy, shared within one rendering.
class Value
{
public:
    /// Undefined, without a name.
    Value() = default;
    /// \param hint  what to say where it is used: "'tools' is undefined"
    static Value undefined(std::string hint);
    static Value none() { return Value(None{}); }
    static Value boolean(bool value) { return Value(value); }
    static Value integer(std::int64_t value) { return Value(value); }
    static Value real(double value) { return Value(value); }
    static Value text(std::string value);
    static Value sequence(Sequence value);
    static Value list(std::vector<Value> items);
    static Value tuple(std::vector<Value> items);
    static Value dict(Dict value);
    static Value object(std::shared_ptr<Object> value);

    bool isUndefined() const { return std::holds_alternative<Undefined>(m_value); }
    bool isNone() const { return std::holds_alternative<None>(m_value); }
    bool isBoolean() const { return std::holds_alternative<bool>(m_value); }
    bool isFloat() const { return std::holds_alternative<double>(m_value); }
    bool isText() const { return asText() != nullptr; }
    /// A number that Python counts as one: a boolean, an integer or a float.
    bool isNumber() const { return isFloat() || asInteger().has_value(); }

    /// Null where it is something else.
    const std::string* asText() const;
    const Sequence* asSequence() const;
    const Dict* asDict() const;
    Object* asObject() const;
    const std::shared_ptr<Object>* objectPointer() const
    {
        return std::get_if<std::shared_ptr<Object>>(&m_value);
    }
    std::optional<std::int64_t> asInteger() const; ///< of a boolean too
    std::optional<double> asNumber() const;        ///< of an integer or boolean too

    /// What bool() gives.
    bool isTrue() const;
    /// Python's name of the type, as in its messages: "str", "NoneType".
    std::string_view typeName() const;
    /// What to say where an undefined value is used.
    std::string undefinedHint() const;
    /// Lists inside lists: 0 for what holds nothing.
    std::size_t depth() const;
    /// Whether both are the same object, as `is`.
    bool isSameObject(const Value& other) const { return m_value == other.m_value; }

private:
    struct Undefined
    {
        std::shared_ptr<const std::string> hint;
        bool operator==(const Undefined&) const { return true; }
    };
    struct None
    {
        bool operator==(const None&) const = default;
    };
    template <typename T>
    explicit Value(T value)
        : m_value(std::move(value))
    {
    }

    std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const std::string>,
                 std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>,
                 std::shared_ptr<Object>>
        m_value;
};

/// Values in order: what Python has as list, tuple, range, a dict's view, or an iterator.
struct Sequence
{
    enum class Kind { List, Tuple, Range, View, Iterator };
    Kind kind = Kind::List;
    std::vector<Value> items;
    std::string label; ///< how a range, view or iterator prints: "range(0, 3)", "dict_items"
    mutable bool isSpent = false; ///< an iterator that was gone through once
    std::size_t depth = 1;        ///< filled by Value::sequence

    /// Whether items have numbers and the whole has a length.
    bool isIndexed() const { return kind != Kind::View && kind != Kind::Iterator; }
    /// The items for going through them, which spends an iterator.
    const std::vector<Value>& take() const;
};

/// Keys and values in the order of insertion.
class Dict
{
public:
    using Entry = std::pair<Value, Value>;

    /// Replaces the value of a key that is there. Keys may be long, so reading them is charged.
    /// \throws TemplateError for a key that has no hash
    void set(Budget& budget, Value key, Value value);
    void set(Budget& budget, std::string key, Value value);
    /// The same of names that are ours.
    void set(std::string_view name, Value value);
    /// Null where there is none. \throws TemplateError for a key that has no hash
    const Value* find(Budget& budget, const Value& key) const;
    const Value* find(Budget& budget, std::string_view key) const;
    const std::vector<Entry>& entries() const { return m_entries; }
    std::size_t depth() const { return m_depth; }

private:
    void charge(Budget& budget, std::size_t keyBytes) const;
    void put(Value* present, Value key, Value value);
    std::optional<std::size_t> indexOf(std::string_view key) const;
    std::optional<std::size_t> indexOf(Budget& budget, const Value& key) const;

    std::vector<Entry> m_entries;
    std::unordered_map<std::string, std::size_t> m_index; ///< of large ones, by keyText
    std::size_t m_depth = 1;
};

/// The beginning of a name, for a sentence: a file may make it as long as it likes.
std::string clipped(std::string_view name);

/// A text that is equal for equal keys and only for them. \throws TemplateError for a list or dict
std::string keyText(Budget& budget, const Value& key);

struct Arguments
{
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> named;
};

/// What has behaviour of its own: a macro, a namespace, a loop.
class Object
{
public:
    virtual ~Object() = default;
    virtual std::string_view typeName() const = 0;
    virtual std::optional<Value> attribute(Budget& budget, std::string_view name) const;
    virtual bool isCallable() const { return false; }
    /// \throws TemplateError
    virtual Value call(const Arguments& arguments);
    /// As str() shows it.
    virtual std::string text(Budget& budget) const;
    virtual std::size_t depth() const { return 1; }
};

} // namespace kvscope::jinja
