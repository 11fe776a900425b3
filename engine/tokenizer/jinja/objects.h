#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/value.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope::jinja {

/// namespace(): the one value that can be changed, by `set ns.name = ...`.
class Namespace : public Object
{
public:
    std::string_view typeName() const override { return "Namespace"; }
    std::optional<Value> attribute(Budget& budget, std::string_view name) const override;
    std::string text(Budget& budget) const override;

    void set(Budget& budget, std::string name, Value value)
    {
        m_values.set(budget, std::move(name), std::move(value));
    }
    void clear() { m_values = {}; }

private:
    Dict m_values;
};

/// A function of C++ under a name.
class Function : public Object
{
public:
    using Body = std::function<Value(const Arguments&)>;
    /// \param held  how deep the values lie that the body keeps
    Function(std::string name, Body body, std::size_t held = 0)
        : m_name(std::move(name))
        , m_body(std::move(body))
        , m_held(held)
    {
    }
    std::string_view typeName() const override { return "function"; }
    bool isCallable() const override { return true; }
    Value call(const Arguments& arguments) override { return m_body(arguments); }
    std::string text(Budget& budget) const override;
    std::size_t depth() const override { return m_held + 1; }

private:
    std::string m_name;
    Body m_body;
    std::size_t m_held;
};

/// `loop` inside a for.
class Loop : public Object, public std::enable_shared_from_this<Loop>
{
public:
    Loop(Run& run, const std::vector<Value>& items);
    std::string_view typeName() const override { return "LoopContext"; }
    std::optional<Value> attribute(Budget& budget, std::string_view name) const override;
    std::string text(Budget& budget) const override;

    void moveTo(std::size_t index) { m_index = index; }
    /// Lets go of the items; the loop is over.
    void end();

private:
    Value method(std::string_view name) const;
    Value cycled(const Arguments& arguments) const;
    Value hasChanged(const Arguments& arguments);
    void requireRunning() const;
    std::optional<Value> number(std::string_view name) const;
    Value itemAt(std::size_t index, const char* which) const;

    Run& m_run;
    const std::vector<Value>* m_items; ///< those of the for statement; null once it is over
    std::size_t m_index = 0;
    std::vector<Value> m_lastSeen; ///< by changed()
    bool m_hasSeen = false;
};

/// The functions that a template finds by name: range, dict, namespace, cycler, joiner,
/// raise_exception, strftime_now. Undefined-like nothing where there is none of that name.
std::optional<Value> globalFunction(Run& run, const std::string& name);

/// The method `name` of a text, dict or list, bound to it; nothing where its type has none.
std::optional<Value> boundMethod(Run& run, const Value& subject, std::string_view name);

/// Calls the method `name` of `subject`. \return nothing where its type has no such method
std::optional<Value> callMethod(Run& run, const Value& subject, std::string_view name,
                                const Arguments& arguments);

} // namespace kvscope::jinja
