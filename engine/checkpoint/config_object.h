#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// Typed access to a configuration's keys, with errors that name file and key. A key whose value is
/// null counts as missing, as it does for Hugging Face.
class ConfigObject
{
public:
    /// \param file  the file's name, for messages
    /// \param prefix  put before keys in messages: "model." for keys of a section
    ConfigObject(nlohmann::json object, std::string file, std::string prefix = {});

    const std::string& file() const { return m_file; }
    bool has(std::string_view key) const { return find(key) != nullptr; }
    /// Whether the key is there, but as null, where that means something else than a missing key.
    bool isNull(std::string_view key) const { return isStated(key) && !has(key); }
    bool isEmpty() const { return m_object.empty(); }
    const nlohmann::json& keys() const { return m_object; }
    /// These keys, with those of `over` put over them; messages speak of `over`.
    ConfigObject mergedWith(const ConfigObject& over) const;
    /// Whether the key is there at all, if only as null.
    bool isStated(std::string_view key) const { return m_object.contains(std::string(key)); }
    /// Null where missing.
    const nlohmann::json* find(std::string_view key) const;

    /// Nothing where missing. \throws CheckpointError where the value has another type
    std::optional<std::int64_t> wholeNumber(std::string_view key) const;
    std::optional<double> number(std::string_view key) const;
    std::optional<bool> flag(std::string_view key) const;
    std::optional<std::string> text(std::string_view key) const;

    /// A list; nothing where missing. \throws CheckpointError where an element has another type
    std::optional<std::vector<double>> numbers(std::string_view key) const;
    std::optional<std::vector<std::string>> texts(std::string_view key) const;

    /// \throws CheckpointError where missing, too
    std::int64_t requireWholeNumber(std::string_view key) const;
    double requireNumber(std::string_view key) const;
    bool requireFlag(std::string_view key) const;
    /// A section, such as `rope_parameters`; nothing where missing.
    std::optional<ConfigObject> section(std::string_view key) const;

    /// Throws CheckpointError "FILE: KEY WHY".
    [[noreturn]] void fail(std::string_view key, const std::string& why) const;

private:
    nlohmann::json m_object;
    std::string m_file;
    std::string m_prefix;
};

} // namespace kvscope
