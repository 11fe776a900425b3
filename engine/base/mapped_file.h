#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace kvscope {

/// A whole file, mapped read-only; unmapped when destroyed. Movable, not copyable. What is gone of
/// a file that somebody makes shorter meanwhile reads as 0 (cut_files.h).
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
    std::size_t m_watched = 0; ///< watchMapping(), where there are bytes
};

} // namespace kvscope
