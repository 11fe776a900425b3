#include "engine/checkpoint/config_object.h"

#include "engine/checkpoint/error_text.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kvscope {
namespace {

constexpr double kMaxExactDouble = 9007199254740992.0; // 2^53

/// A value as it stands in the file, cut to fit a message.
std::string shown(const nlohmann::json& value)
{
    return printable(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

} // namespace

ConfigObject::ConfigObject(nlohmann::json object, std::string file, std::string prefix)
    : m_object(std::move(object))
    , m_file(std::move(file))
    , m_prefix(std::move(prefix))
{
}

const nlohmann::json* ConfigObject::find(std::string_view key) const
{
    const auto found = m_object.find(std::string(key));
    return found == m_object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> ConfigObject::wholeNumber(std::string_view key) const
{
    const nlohmann::json* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (value->is_number_unsigned() &&
        value->get<std::uint64_t>() >
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        fail(key, "is " + shown(*value) + ", which is too large");
    if (value->is_number_integer())
        return value->get<std::int64_t>();
    // Some writers spell whole numbers as 4096.0.
    if (value->is_number_float()) {
        const auto real = value->get<double>();
        if (real >= -kMaxExactDouble && real <= kMaxExactDouble &&
            static_cast<double>(static_cast<std::int64_t>(real)) == real)
            return static_cast<std::int64_t>(real);
    }
    fail(key, "is " + shown(*value) + ", a whole number was expected");
}

std::optional<double> ConfigObject::number(std::string_view key) const
{
    const nlohmann::json* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_number())
        fail(key, "is " + shown(*value) + ", a number was expected");
    return value->get<double>();
}

std::optional<bool> ConfigObject::flag(std::string_view key) const
{
    const nlohmann::json* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_boolean())
        fail(key, "is " + shown(*value) + ", true or false was expected");
    return value->get<bool>();
}

std::optional<std::string> ConfigObject::text(std::string_view key) const
{
    const nlohmann::json* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_string())
        fail(key, "is " + shown(*value) + ", text was expected");
    return value->get<std::string>();
}

std::optional<std::vector<double>> ConfigObject::numbers(std::string_view key) const
{
    const nlohmann::json* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_array() ||
        !std::all_of(value->begin(), value->end(), [](const auto& one) { return one.is_number(); }))
        fail(key, "is " + shown(*value) + ", a list of numbers was expected");
    return value->get<std::vector<double>>();
}

std::optional<std::vector<std::string>> ConfigObject::texts(std::string_view key) const
{
    const nlohmann::json* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_array() ||
        !std::all_of(value->begin(), value->end(), [](const auto& one) { return one.is_string(); }))
        fail(key, "is " + shown(*value) + ", a list of texts was expected");
    return value->get<std::vector<std::string>>();
}

std::int64_t ConfigObject::requireWholeNumber(std::string_view key) const
{
    if (const auto value = wholeNumber(key))
        return *value;
    fail(key, "is missing; a whole number was expected");
}

double ConfigObject::requireNumber(std::string_view key) const
{
    if (const auto value = number(key))
        return *value;
    fail(key, "is missing; a number was expected");
}

bool ConfigObject::requireFlag(std::string_view key) const
{
    if (const auto value = flag(key))
        return *value;
    fail(key, "is missing; true or false was expected");
}

std::optional<ConfigObject> ConfigObject::section(std::string_view key) const
{
    const nlohmann::json* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_object())
        fail(key, "is " + shown(*value) + ", a section was expected");
    return ConfigObject(*value, m_file, m_prefix + std::string(key) + ".");
}

ConfigObject ConfigObject::mergedWith(const ConfigObject& over) const
{
    ConfigObject merged = over;
    merged.m_object = m_object;
    merged.m_object.update(over.m_object);
    return merged;
}

void ConfigObject::fail(std::string_view key, const std::string& why) const
{
    failIn(m_file, m_prefix + printable(key) + " " + why);
}

} // namespace kvscope
