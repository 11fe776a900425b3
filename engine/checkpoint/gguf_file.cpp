#include "engine/checkpoint/gguf_file.h"

#include "engine/checkpoint/error_text.h"
#include "engine/checkpoint/gguf_parser.h"

#include <limits>

namespace kvscope {

GgufFile::GgufFile(const std::filesystem::path& path)
    : m_name(path.filename().string())
{
    MappedFile file(path);
    GgufContent content = parseGguf(file.bytes(), m_name);
    m_version = content.version;
    m_alignment = content.alignment;
    m_metadata = std::move(content.metadata);
    m_unread = std::move(content.unread);
    m_tensors = std::make_shared<const TensorFile>(path.string(), std::move(file),
                                                   std::move(content.tensors));
}

const GgufValue* GgufFile::find(std::string_view key) const
{
    const auto found = m_metadata.find(key);
    return found == m_metadata.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> GgufFile::count(std::string_view key) const
{
    const GgufValue* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (const auto* plain = std::get_if<std::uint64_t>(value)) {
        if (*plain <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return static_cast<std::int64_t>(*plain);
    } else if (const auto* withSign = std::get_if<std::int64_t>(value)) {
        if (*withSign >= 0)
            return *withSign;
    }
    wrongType(key, "a whole number from 0 to 2^63 - 1");
}

std::optional<double> GgufFile::number(std::string_view key) const
{
    const GgufValue* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (const auto* real = std::get_if<double>(value))
        return *real;
    if (const auto* plain = std::get_if<std::uint64_t>(value))
        return static_cast<double>(*plain);
    if (const auto* withSign = std::get_if<std::int64_t>(value))
        return static_cast<double>(*withSign);
    wrongType(key, "a number");
}

std::optional<bool> GgufFile::flag(std::string_view key) const
{
    const GgufValue* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (const auto* truth = std::get_if<bool>(value))
        return *truth;
    wrongType(key, "a boolean");
}

const std::string* GgufFile::text(std::string_view key) const
{
    const GgufValue* value = find(key);
    if (value == nullptr)
        return nullptr;
    if (const auto* string = std::get_if<std::string>(value))
        return string;
    wrongType(key, "text");
}

const GgufArray* GgufFile::array(std::string_view key) const
{
    const GgufValue* value = find(key);
    if (value == nullptr)
        return nullptr;
    if (const auto* list = std::get_if<GgufArray>(value))
        return list;
    wrongType(key, "an array");
}

void GgufFile::wrongType(std::string_view key, std::string_view expected) const
{
    failIn(m_name, "the metadata key " + printable(key) + " is not " + std::string(expected));
}

} // namespace kvscope
