#pragma once

#include "engine/tokenizer/jinja/value.h"

#include <nlohmann/json.hpp>

namespace kvscope::jinja {

/// The value that Python's json.loads gives; keys stay in the file's order.
inline Value valueFrom(const nlohmann::ordered_json& json)
{
    if (json.is_boolean())
        return Value::boolean(json.get<bool>());
    if (json.is_number_integer())
        return Value::integer(json.get<std::int64_t>());
    if (json.is_number())
        return Value::real(json.get<double>());
    if (json.is_string())
        return Value::text(json.get<std::string>());
    if (json.is_array()) {
        std::vector<Value> items;
        for (const auto& item : json)
            items.push_back(valueFrom(item));
        return Value::list(std::move(items));
    }
    if (!json.is_object())
        return Value::none();
    Dict dict;
    for (const auto& [key, value] : json.items())
        dict.set(key, valueFrom(value));
    return Value::dict(std::move(dict));
}

/// 26 July 2024, a Friday, 09:05:03: the date of make_expected.py.
inline std::tm fixedTime()
{
    std::tm time{};
    time.tm_year = 124;
    time.tm_mon = 6;
    time.tm_mday = 26;
    time.tm_hour = 9;
    time.tm_min = 5;
    time.tm_sec = 3;
    time.tm_wday = 5;
    time.tm_yday = 207;
    return time;
}

} // namespace kvscope::jinja
