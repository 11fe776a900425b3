#include "engine/lab/strict_fields.h"

#include "engine/base/errors.h"

#include <cmath>

namespace kvscope {

void requireField(bool holds, const std::string& complaint)
{
    if (!holds)
        throw ArgumentError("damaged JSON: " + complaint);
}

const RecordJson& strictAt(const RecordJson& json, const char* key)
{
    requireField(json.is_object(), std::string("what should hold ") + key + " is no object");
    const auto found = json.find(key);
    requireField(found != json.end(), std::string(key) + " is missing");
    return *found;
}

double strictNumber(const RecordJson& json)
{
    requireField(json.is_number() && std::isfinite(json.get<double>()), "a number was expected");
    return json.get<double>();
}

double strictNumber(const RecordJson& json, const char* key)
{
    const RecordJson& value = strictAt(json, key);
    requireField(value.is_number() && std::isfinite(value.get<double>()),
                 std::string(key) + " is not a number");
    return value.get<double>();
}

std::int64_t strictCount(const RecordJson& json)
{
    constexpr double kMost = 9007199254740992.0; // 2^53
    const double value = strictNumber(json);
    requireField(value >= 0.0 && value < kMost && value == std::floor(value),
                 "a count was expected");
    return static_cast<std::int64_t>(value);
}

std::int64_t strictCount(const RecordJson& json, const char* key)
{
    requireField(strictAt(json, key).is_number(), std::string(key) + " is not a count");
    return strictCount(strictAt(json, key));
}

bool strictFlag(const RecordJson& json, const char* key)
{
    const RecordJson& value = strictAt(json, key);
    requireField(value.is_boolean(), std::string(key) + " is neither true nor false");
    return value.get<bool>();
}

std::string strictText(const RecordJson& json, const char* key, std::size_t mostBytes)
{
    const RecordJson& value = strictAt(json, key);
    requireField(value.is_string(), std::string(key) + " is not text");
    requireField(value.get_ref<const std::string&>().size() <= mostBytes,
                 std::string(key) + " is too long");
    return value.get<std::string>();
}

const RecordJson& strictList(const RecordJson& json, const char* key, std::size_t mostItems)
{
    const RecordJson& value = strictAt(json, key);
    requireField(value.is_array(), std::string(key) + " is not a list");
    requireField(value.size() <= mostItems, std::string(key) + " has too many items");
    return value;
}

std::size_t strictIndex(const RecordJson& json, const char* key, const char* const* names,
                        std::size_t count)
{
    const std::string text = strictText(json, key, 100);
    for (std::size_t i = 0; i < count; ++i)
        if (text == names[i])
            return i;
    throw ArgumentError("damaged JSON: " + std::string(key) + " is unknown: '" + text + "'");
}

} // namespace kvscope
