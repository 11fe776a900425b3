#include "engine/base/mapped_file.h"

#include "engine/base/cut_files.h"
#include "engine/base/errors.h"
#include "engine/base/utf8.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace kvscope {
namespace {

/// Closes a file descriptor when it leaves scope; the mapping outlives it.
class Descriptor
{
public:
    explicit Descriptor(int value)
        : m_value(value)
    {
    }
    ~Descriptor()
    {
        if (m_value >= 0)
            ::close(m_value);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int value() const { return m_value; }

private:
    int m_value;
};

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why)
{
    throw CheckpointError(oneLine(path.string()) + ": " + why);
}

} // namespace

MappedFile::MappedFile(const std::filesystem::path& path)
{
    // O_NONBLOCK: opening a pipe without a writer must not hang.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.value() < 0)
        fail(path, errno == ENOENT ? "no such file"
                                   : std::string("cannot be read: ") + std::strerror(errno));
    struct stat status = {};
    if (::fstat(file.value(), &status) != 0)
        fail(path, std::string("cannot be read: ") + std::strerror(errno));
    if (!S_ISREG(status.st_mode))
        fail(path, S_ISDIR(status.st_mode) ? "is a folder, a file was expected"
                                           : "is not a regular file");
    if (status.st_size == 0)
        fail(path, "is empty (0 bytes)");
    const auto size = static_cast<std::size_t>(status.st_size);
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value(), 0);
    if (address == MAP_FAILED)
        fail(path, std::string("cannot be mapped: ") + std::strerror(errno));
    m_bytes = {static_cast<const std::byte*>(address), size};
    m_watched = watchMapping(m_bytes, path);
}

MappedFile::~MappedFile()
{
    if (m_bytes.empty())
        return;
    unwatchMapping(m_watched);
    ::munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : m_bytes(std::exchange(other.m_bytes, {}))
    , m_watched(other.m_watched)
{
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept
{
    std::swap(m_bytes, other.m_bytes);
    std::swap(m_watched, other.m_watched);
    return *this;
}

} // namespace kvscope
