#include "engine/tokenizer/jinja/objects.h"

#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/value_compare.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <algorithm>

namespace kvscope::jinja {

Run::~Run()
{
    for (const auto& space : namespaces)
        space->clear();
}

std::optional<Value> Namespace::attribute(Budget& budget, std::string_view name) const
{
    const Value* value = m_values.find(budget, name);
    return value == nullptr ? std::nullopt : std::optional(*value);
}

std::string Namespace::text(Budget& budget) const
{
    const DepthGuard guard(budget); // a namespace can hold itself
    TextBuilder out(budget);
    out.add("<Namespace ");
    addRepr(out, Value::dict(m_values));
    out.add(">");
    return out.take();
}

std::string Function::text(Budget&) const
{
    return "<function " + m_name + ">";
}

Loop::Loop(Run& run, const std::vector<Value>& items)
    : m_run(run)
    , m_items(&items)
{
}

void Loop::end()
{
    m_items = nullptr;
    m_lastSeen.clear();
}

std::string Loop::text(Budget&) const
{
    if (m_items == nullptr)
        return "<LoopContext>";
    return "<LoopContext " + std::to_string(m_index + 1) + "/" + std::to_string(m_items->size()) +
           ">";
}

std::optional<Value> Loop::number(std::string_view name) const
{
    const auto index = static_cast<std::int64_t>(m_index);
    const auto length = static_cast<std::int64_t>(m_items->size());
    const std::pair<std::string_view, std::int64_t> numbers[] = {{"index", index + 1},
                                                                 {"index0", index},
                                                                 {"revindex", length - index},
                                                                 {"revindex0", length - index - 1},
                                                                 {"length", length},
                                                                 {"depth", 1},
                                                                 {"depth0", 0}};
    const auto* found = std::ranges::find(numbers, name, [](const auto& n) { return n.first; });
    return found == std::end(numbers) ? std::nullopt : std::optional(Value::integer(found->second));
}

Value Loop::itemAt(std::size_t index, const char* which) const
{
    return index < m_items->size() ? (*m_items)[index]
                                   : Value::undefined(std::string("there is no ") + which);
}

void Loop::requireRunning() const
{
    if (m_items == nullptr)
        fail("the loop of 'loop' is over");
}

Value Loop::cycled(const Arguments& arguments) const
{
    requireRunning();
    if (arguments.positional.empty())
        fail("'cycle' is given nothing to choose from");
    return arguments.positional[m_index % arguments.positional.size()];
}

Value Loop::hasChanged(const Arguments& arguments)
{
    requireRunning();
    const auto& seen = arguments.positional;
    const bool isSame =
        m_hasSeen && std::ranges::equal(m_lastSeen, seen, [this](const auto& a, const auto& b) {
            return isEqual(m_run.budget, a, b);
        });
    m_run.budget.items(seen.size());
    m_lastSeen = seen;
    m_hasSeen = true;
    return Value::boolean(!isSame);
}

/// A function that keeps the loop, as it may be kept itself.
Value Loop::method(std::string_view name) const
{
    const auto self = std::const_pointer_cast<Loop>(shared_from_this());
    const bool isCycle = name == "cycle";
    return Value::object(
        std::make_shared<Function>(std::string(name), [self, isCycle](const Arguments& arguments) {
            return isCycle ? self->cycled(arguments) : self->hasChanged(arguments);
        }));
}

std::optional<Value> Loop::attribute(Budget&, std::string_view name) const
{
    requireRunning();
    if (name == "cycle" || name == "changed")
        return method(name);
    if (name == "first" || name == "last")
        return Value::boolean(m_index == (name == "first" ? 0 : m_items->size() - 1));
    if (name == "previtem")
        return itemAt(m_index - 1, "previous item"); // the first one's is out of range
    if (name == "nextitem")
        return itemAt(m_index + 1, "next item");
    return number(name);
}

} // namespace kvscope::jinja
