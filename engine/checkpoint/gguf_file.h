#pragma once

#include "engine/checkpoint/tensor_file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kvscope {

/// A metadata array: unsigned types widened to 64 bits, signed likewise, float32 to double.
using GgufArray = std::variant<std::vector<std::uint64_t>, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<bool>, std::vector<std::string>>;
/// A metadata value, widened likewise. Text is as stored; it need not be UTF-8.
using GgufValue = std::variant<std::uint64_t, std::int64_t, double, bool, std::string, GgufArray>;

/// A tensor whose type this version does not read.
struct UnreadTensor
{
    std::string name;
    std::uint32_t typeNumber = 0;
    std::vector<std::int64_t> shape; ///< outermost first
};

/// Everything a GGUF file's head says. Memory is at most some ten times the head's bytes.
struct GgufContent
{
    std::uint32_t version = 0; ///< 2 or 3
    std::uint64_t alignment = 32;
    std::map<std::string, GgufValue, std::less<>> metadata;
    std::map<std::string, TensorInfo, std::less<>> tensors;
    std::vector<UnreadTensor> unread;
};

/// A GGUF file of version 2 or 3: metadata and tensors, mapped and checked. Immutable.
///
/// Tensors of a type that is not read are checked as far as their size is known, and listed apart.
class GgufFile
{
public:
    /// \throws CheckpointError naming the file, the key or tensor, expected and found
    explicit GgufFile(const std::filesystem::path& path);

    const std::string& name() const { return m_name; } ///< the file's name, for messages
    std::uint32_t version() const { return m_version; }
    std::uint64_t alignment() const { return m_alignment; }
    const std::map<std::string, GgufValue, std::less<>>& metadata() const { return m_metadata; }
    const std::shared_ptr<const TensorFile>& tensors() const { return m_tensors; }
    const std::vector<UnreadTensor>& unread() const { return m_unread; }

    /// Null where the key is missing.
    const GgufValue* find(std::string_view key) const;
    /// Typed access: nothing (or null) where the key is missing. A whole number is never negative;
    /// a number may be of any numeric type. \throws CheckpointError naming the key where it has
    /// another type
    std::optional<std::int64_t> count(std::string_view key) const;
    std::optional<double> number(std::string_view key) const;
    std::optional<bool> flag(std::string_view key) const;
    const std::string* text(std::string_view key) const;
    const GgufArray* array(std::string_view key) const;

private:
    [[noreturn]] void wrongType(std::string_view key, std::string_view expected) const;

    std::string m_name;
    std::uint32_t m_version = 0;
    std::uint64_t m_alignment = 32;
    std::map<std::string, GgufValue, std::less<>> m_metadata;
    std::shared_ptr<const TensorFile> m_tensors;
    std::vector<UnreadTensor> m_unread;
};

} // namespace kvscope
