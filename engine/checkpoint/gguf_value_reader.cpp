#include "engine/checkpoint/gguf_value_reader.h"

#include "engine/checkpoint/checked_math.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace kvscope {
namespace {
constexpr std::uint64_t kMostValues = std::uint64_t{1} << 23;
constexpr std::uint64_t kMostTextBytes = std::uint64_t{1} << 27;
} // namespace

// Source: ggml/docs/gguf.md, gguf_metadata_value_type.
enum class GgufValueReader::ValueType : std::uint32_t {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    Text,
    Array,
    U64,
    I64,
    F64,
    Count,
};

GgufValueReader::ValueType GgufValueReader::readType(const std::string& what)
{
    const auto number = m_reader.read<std::uint32_t>("the type of " + what);
    if (number >= static_cast<std::uint32_t>(ValueType::Count))
        fail(what + " has the unknown value type " + std::to_string(number));
    return static_cast<ValueType>(number);
}

bool GgufValueReader::readBool(const std::string& what)
{
    const auto byte = m_reader.read<std::uint8_t>(what);
    if (byte > 1)
        fail(what + " is a boolean of value " + std::to_string(byte) + ", neither 0 nor 1");
    return byte == 1;
}

GgufValue GgufValueReader::readValue(const std::string& what)
{
    switch (readType(what)) {
    case ValueType::U8:
        return std::uint64_t{m_reader.read<std::uint8_t>(what)};
    case ValueType::U16:
        return std::uint64_t{m_reader.read<std::uint16_t>(what)};
    case ValueType::U32:
        return std::uint64_t{m_reader.read<std::uint32_t>(what)};
    case ValueType::U64:
        return m_reader.read<std::uint64_t>(what);
    case ValueType::I8:
        return std::int64_t{m_reader.read<std::int8_t>(what)};
    case ValueType::I16:
        return std::int64_t{m_reader.read<std::int16_t>(what)};
    case ValueType::I32:
        return std::int64_t{m_reader.read<std::int32_t>(what)};
    case ValueType::I64:
        return m_reader.read<std::int64_t>(what);
    case ValueType::F32:
        return double{m_reader.read<float>(what)};
    case ValueType::F64:
        return m_reader.read<double>(what);
    case ValueType::Bool:
        return readBool(what);
    case ValueType::Text:
        return readText(what, m_reader.remaining());
    case ValueType::Array:
    case ValueType::Count:
        break;
    }
    return readArray(what);
}

template <typename Stored, typename Wide>
GgufArray GgufValueReader::readNumbers(std::uint64_t count, const std::string& what)
{
    const auto bytes = checkedMultiply(count, sizeof(Stored));
    if (!bytes)
        fail(what + " claims " + std::to_string(count) + " values");
    const std::string_view data = m_reader.take(*bytes, what);
    chargeValues(count, what);
    std::vector<Wide> values(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        Stored value;
        std::memcpy(&value, data.data() + i * sizeof(Stored), sizeof(Stored));
        values[i] = static_cast<Wide>(value);
    }
    return values;
}

GgufArray GgufValueReader::readTexts(std::uint64_t count, const std::string& what)
{
    if (count > m_reader.remaining() / sizeof(std::uint64_t))
        fail(what + " claims " + std::to_string(count) + " texts, but only " +
             std::to_string(m_reader.remaining()) + " bytes follow");
    chargeValues(count, what);
    std::vector<std::string> values;
    values.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i)
        values.push_back(readText(what, m_reader.remaining()));
    return values;
}

GgufArray GgufValueReader::readBools(std::uint64_t count, const std::string& what)
{
    if (count > m_reader.remaining())
        fail(what + " claims " + std::to_string(count) + " values, but only " +
             std::to_string(m_reader.remaining()) + " bytes follow");
    chargeValues(count, what);
    std::vector<bool> values(count);
    for (std::uint64_t i = 0; i < count; ++i)
        values[i] = readBool(what);
    return values;
}

GgufArray GgufValueReader::readArray(const std::string& what)
{
    const ValueType type = readType(what);
    const auto count = m_reader.read<std::uint64_t>("the length of " + what);
    switch (type) {
    case ValueType::U8:
        return readNumbers<std::uint8_t, std::uint64_t>(count, what);
    case ValueType::U16:
        return readNumbers<std::uint16_t, std::uint64_t>(count, what);
    case ValueType::U32:
        return readNumbers<std::uint32_t, std::uint64_t>(count, what);
    case ValueType::U64:
        return readNumbers<std::uint64_t, std::uint64_t>(count, what);
    case ValueType::I8:
        return readNumbers<std::int8_t, std::int64_t>(count, what);
    case ValueType::I16:
        return readNumbers<std::int16_t, std::int64_t>(count, what);
    case ValueType::I32:
        return readNumbers<std::int32_t, std::int64_t>(count, what);
    case ValueType::I64:
        return readNumbers<std::int64_t, std::int64_t>(count, what);
    case ValueType::F32:
        return readNumbers<float, double>(count, what);
    case ValueType::F64:
        return readNumbers<double, double>(count, what);
    case ValueType::Bool:
        return readBools(count, what);
    case ValueType::Text:
        return readTexts(count, what);
    case ValueType::Array:
    case ValueType::Count:
        break;
    }
    fail(what + " is an array of arrays, which is not read");
}

std::string GgufValueReader::readText(const std::string& what, std::uint64_t limit)
{
    const auto length = m_reader.read<std::uint64_t>("the length of " + what);
    if (length > limit)
        fail(what + " would be " + std::to_string(length) + " bytes long, " +
             std::to_string(limit) + " are allowed");
    const std::string_view text = m_reader.take(length, what);
    chargeText(length, what);
    return std::string(text);
}

void GgufValueReader::chargeValues(std::uint64_t count, const std::string& what)
{
    m_numValues += count;
    if (count > kMostValues || m_numValues > kMostValues)
        fail(what + " has " + std::to_string(count) +
             " values; at most 8388608 in all arrays together are read");
}

void GgufValueReader::chargeText(std::uint64_t length, const std::string& what)
{
    m_textBytes += length;
    if (length > kMostTextBytes || m_textBytes > kMostTextBytes)
        fail(what + " has " + std::to_string(length) +
             " bytes; at most 134217728 in all texts together are read");
}

} // namespace kvscope
