#pragma once

#include "engine/base/errors.h"

#include <QString>
#include <QTemporaryDir>
#include <QtTest>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

inline std::filesystem::path goldenPath(const std::string& name)
{
    return std::filesystem::path(KVSCOPE_TEST_DATA) / name;
}

inline void writeFile(const std::filesystem::path& path, std::string_view bytes)
{
    std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string readFile(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A value's bytes, little-endian.
template <typename T>
std::string bytesOf(T value)
{
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

/// What an action throws as CheckpointError, or "(nothing thrown)". A second line in the message is
/// a defect of its own, so it is marked.
inline QString errorOf(const std::function<void()>& action)
{
    try {
        action();
    } catch (const CheckpointError& error) {
        const QString text = QString::fromUtf8(error.what());
        return text.contains('\n') ? "(two lines) " + text : text;
    }
    return "(nothing thrown)";
}

/// Fails with both texts unless `text` contains `part`.
#define KVSCOPE_CONTAINS(text, part)                                                               \
    do {                                                                                           \
        const QString kvscopeText = (text);                                                        \
        const QString kvscopePart = (part);                                                        \
        QVERIFY2(kvscopeText.contains(kvscopePart),                                                \
                 qPrintable("\"" + kvscopeText + "\" lacks \"" + kvscopePart + "\""));             \
    } while (false)

/// A GGUF file put together byte by byte, for tests that then break one of them.
class GgufBytes
{
public:
    explicit GgufBytes(std::uint32_t version = 3)
        : m_version(version)
    {
    }

    static std::string text(std::string_view value)
    {
        return bytesOf<std::uint64_t>(value.size()) + std::string(value);
    }
    /// \param type  the format's value type number
    GgufBytes& entry(std::string_view key, std::uint32_t type, const std::string& value)
    {
        m_entries.push_back(text(key) + bytesOf(type) + value);
        return *this;
    }
    GgufBytes& entry(std::string_view key, std::uint32_t value)
    {
        return entry(key, 4, bytesOf(value));
    }
    GgufBytes& entry(std::string_view key, const char* value) { return entry(key, 8, text(value)); }
    /// \param dims  innermost first, as the format has them
    GgufBytes& tensor(std::string_view name, const std::vector<std::uint64_t>& dims,
                      std::uint32_t type, std::uint64_t offset)
    {
        std::string bytes = text(name) + bytesOf(static_cast<std::uint32_t>(dims.size()));
        for (const std::uint64_t size : dims)
            bytes += bytesOf(size);
        m_tensors.push_back(bytes + bytesOf(type) + bytesOf(offset));
        return *this;
    }
    GgufBytes& data(std::size_t bytes)
    {
        m_dataBytes = bytes;
        return *this;
    }
    GgufBytes& claimTensors(std::uint64_t count)
    {
        m_claimedTensors = count;
        return *this;
    }
    GgufBytes& claimEntries(std::uint64_t count)
    {
        m_claimedEntries = count;
        return *this;
    }
    std::string bytes(std::size_t alignment = 32) const
    {
        std::string all = "GGUF" + bytesOf(m_version) +
                          bytesOf(m_claimedTensors.value_or(m_tensors.size())) +
                          bytesOf(m_claimedEntries.value_or(m_entries.size()));
        for (const std::string& entry : m_entries)
            all += entry;
        for (const std::string& tensor : m_tensors)
            all += tensor;
        if (m_dataBytes > 0)
            all.resize((all.size() + alignment - 1) / alignment * alignment + m_dataBytes, '\0');
        return all;
    }

private:
    std::uint32_t m_version;
    std::vector<std::string> m_entries;
    std::vector<std::string> m_tensors;
    std::optional<std::uint64_t> m_claimedTensors;
    std::optional<std::uint64_t> m_claimedEntries;
    std::size_t m_dataBytes = 0;
};

} // namespace kvscope
