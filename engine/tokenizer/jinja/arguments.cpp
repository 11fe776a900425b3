#include "engine/tokenizer/jinja/arguments.h"

#include "engine/tokenizer/jinja/template_error.h"

#include <algorithm>

namespace kvscope::jinja {

BoundArguments::BoundArguments(std::string_view callee, const Arguments& arguments,
                               std::initializer_list<std::string_view> names)
    : m_callee(callee)
{
    if (arguments.positional.size() > names.size())
        fail("'" + m_callee + "' takes at most " + std::to_string(names.size()) + " arguments");
    for (std::size_t i = 0; i < arguments.positional.size(); ++i)
        m_values[i] = &arguments.positional[i];
    for (const auto& [name, value] : arguments.named) {
        const auto found = std::ranges::find(names, name);
        if (found == names.end())
            fail("'" + m_callee + "' has no argument '" + name + "'");
        const Value*& slot = m_values[static_cast<std::size_t>(found - names.begin())];
        if (slot != nullptr)
            fail("'" + m_callee + "' is given '" + name + "' twice");
        slot = &value;
    }
}

const Value& BoundArguments::at(std::size_t index) const
{
    if (m_values[index] == nullptr)
        fail("'" + m_callee + "' is given too few arguments");
    return *m_values[index];
}

std::int64_t BoundArguments::integerOr(std::size_t index, std::int64_t standard) const
{
    if (find(index) == nullptr)
        return standard;
    const auto value = find(index)->asInteger();
    if (!value)
        fail("'" + m_callee + "' needs an integer, not '" + std::string(find(index)->typeName()) +
             "'");
    return *value;
}

std::optional<std::int64_t> BoundArguments::integer(std::size_t index) const
{
    if (find(index) == nullptr || find(index)->isNone())
        return std::nullopt;
    return integerOr(index, 0);
}

const std::string& BoundArguments::text(std::size_t index) const
{
    const auto* value = at(index).asText();
    if (value == nullptr)
        fail("'" + m_callee + "' needs a text, not '" + std::string(at(index).typeName()) + "'");
    return *value;
}

} // namespace kvscope::jinja
