#pragma once

#include <filesystem>

namespace kvscope {

/// Keeps a folder for one training: a lock on FOLDER/lock, which the system takes away when the
/// process ends, however it ends. The file stays. Source: flock(2).
class FolderLock
{
public:
    /// \param folder  is there
    /// \throws ArgumentError where another training holds it; EngineError where it cannot be locked
    explicit FolderLock(const std::filesystem::path& folder);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    int m_descriptor;
};

} // namespace kvscope
