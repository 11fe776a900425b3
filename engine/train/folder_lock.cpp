#include "engine/train/folder_lock.h"

#include "engine/base/errors.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <unistd.h>

namespace kvscope {

FolderLock::FolderLock(const std::filesystem::path& folder)
    : m_descriptor(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644))
{
    if (m_descriptor >= 0 && ::flock(m_descriptor, LOCK_EX | LOCK_NB) == 0)
        return;
    const int reason = errno;
    if (m_descriptor >= 0)
        ::close(m_descriptor);
    if (reason == EWOULDBLOCK)
        throw ArgumentError(folder.string() + ": another training is at work in this folder; wait "
                                              "for its end or take another folder");
    throw EngineError(folder.string() + ": cannot be locked: " + std::strerror(reason));
}

FolderLock::~FolderLock()
{
    ::close(m_descriptor);
}

} // namespace kvscope
