#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace kvscope {

/// A whole file, mapped read-only; unmapped when destroyed. Movable, not copyable.
class MappedFile
{
public:
    /// \throws CheckpointError if the path is missing, not a regular file, empty, or unreadable.
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return m_bytes; }

private:
    std::span<const std::byte> m_bytes;
};

} // namespace kvscope
