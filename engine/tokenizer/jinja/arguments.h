#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/value.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace kvscope::jinja {

/// The arguments of one call, by the names of its parameters.
class BoundArguments
{
public:
    /// \param callee  for messages
    /// \param names  of all parameters, at most 6
    /// \throws TemplateError for too many, unknown or repeated ones
    BoundArguments(std::string_view callee, const Arguments& arguments,
                   std::initializer_list<std::string_view> names);

    /// Null where it was not given.
    const Value* find(std::size_t index) const { return m_values[index]; }
    /// \throws TemplateError where it was not given
    const Value& at(std::size_t index) const;
    bool isTrue(std::size_t index) const { return find(index) != nullptr && find(index)->isTrue(); }
    /// \throws TemplateError where it is no integer
    std::int64_t integerOr(std::size_t index, std::int64_t standard) const;
    /// Nothing where it was not given, or None. \throws TemplateError where it is no integer
    std::optional<std::int64_t> integer(std::size_t index) const;
    /// \throws TemplateError where it is no text
    const std::string& text(std::size_t index) const;

private:
    std::string m_callee;
    std::array<const Value*, 6> m_values{};
};

} // namespace kvscope::jinja
