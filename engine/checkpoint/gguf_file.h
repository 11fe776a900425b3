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

class CheckLog;

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

/// A GGUF model of version 2 or 3: metadata and tensors, mapped and checked. Immutable.
///
/// One file, or the parts that llama.cpp's gguf-split made of one, which ggufParts() finds;
/// metadata are those of the first part, as the others only state which part they are. Tensors of a
/// type that is not read are checked as far as their size is known, and listed apart.
class GgufFile
{
public:
    /// \param path  the file, or any part of a split one
    /// \throws CheckpointError naming the file, the key or tensor, expected and found
    explicit GgufFile(const std::filesystem::path& path);
    /// \param log  gets each check made of the file
    GgufFile(const std::filesystem::path& path, CheckLog& log);

    const std::string& name() const { return m_name; } ///< the (first) file's, for messages
    std::uint32_t version() const { return m_version; }
    std::uint64_t alignment() const { return m_alignment; }
    const std::map<std::string, GgufValue, std::less<>>& metadata() const { return m_metadata; }
    /// The files' tensors, one entry a part; no tensor is in two of them.
    const std::vector<std::shared_ptr<const TensorFile>>& files() const { return m_files; }
    /// A tensor of any part, or null.
    const TensorInfo* findTensor(std::string_view name) const;
    /// Tensors of all parts that are read.
    std::size_t numTensors() const;
    const std::vector<UnreadTensor>& unread() const { return m_unread; } ///< of all parts

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
    std::vector<std::shared_ptr<const TensorFile>> m_files;
    std::vector<UnreadTensor> m_unread;
};

} // namespace kvscope
