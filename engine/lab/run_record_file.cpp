#include "engine/lab/run_record_file.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace kvscope {
namespace {

void requireRegular(const std::filesystem::path& path)
{
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status))
        throw ArgumentError(path.string() + ": no such file, or it cannot be read");
    if (!std::filesystem::is_regular_file(status))
        throw ArgumentError(path.string() + ": is not a regular file, so it is left as it is");
}

[[noreturn]] void failWriting(const std::filesystem::path& path, int error)
{
    throw EngineError(path.string() + ": cannot be written: " + std::strerror(error));
}

} // namespace

RunRecordFile::RunRecordFile(std::filesystem::path path, int descriptor)
    : m_path(std::move(path))
    , m_descriptor(descriptor)
{
    if (::flock(m_descriptor, LOCK_EX | LOCK_NB) != 0) {
        ::close(m_descriptor);
        throw ArgumentError(m_path.string() + ": another run is writing it");
    }
}

RunRecordFile RunRecordFile::createNew(const std::filesystem::path& path)
{
    // O_EXCL: what was there is never opened, through a link neither.
    const int descriptor =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor < 0 && errno == EEXIST)
        throw ArgumentError(path.string() +
                            ": is there already and is left as it is; choose another name, or "
                            "resume it where it is a record of the same run");
    if (descriptor < 0)
        failWriting(path, errno);
    return {path, descriptor};
}

RunRecordFile RunRecordFile::openExisting(const std::filesystem::path& path)
{
    requireRegular(path);
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        failWriting(path, errno);
    RunRecordFile file(path, descriptor);
    file.m_bytes = std::filesystem::file_size(path);
    return file;
}

RunRecordFile::RunRecordFile(RunRecordFile&& other) noexcept
    : m_path(std::move(other.m_path))
    , m_descriptor(std::exchange(other.m_descriptor, -1))
    , m_bytes(other.m_bytes)
{
}

RunRecordFile& RunRecordFile::operator=(RunRecordFile&& other) noexcept
{
    std::swap(m_path, other.m_path);
    std::swap(m_descriptor, other.m_descriptor);
    std::swap(m_bytes, other.m_bytes);
    return *this;
}

RunRecordFile::~RunRecordFile()
{
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

void RunRecordFile::cutTo(std::uint64_t bytes)
{
    if (::ftruncate(m_descriptor, static_cast<off_t>(bytes)) != 0)
        failWriting(m_path, errno);
    m_bytes = bytes;
}

void RunRecordFile::append(std::string_view line)
{
    std::string text(line);
    text += '\n';
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t count = ::write(m_descriptor, text.data() + done, text.size() - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            const int error = errno;
            cutTo(m_bytes);
            failWriting(m_path, error);
        }
        done += static_cast<std::size_t>(count);
    }
    m_bytes += text.size();
}

std::string readRunRecordText(const std::filesystem::path& path, std::uint64_t limitBytes)
{
    requireRegular(path);
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path, error);
    if (error || size > limitBytes)
        throw ArgumentError(path.string() + ": " + formatFileSize(size) +
                            " are more than a run record may have (" + formatFileSize(limitBytes) +
                            ")");
    std::ifstream stream(path, std::ios::binary);
    std::string text(size, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(size));
    text.resize(static_cast<std::size_t>(stream.gcount())); // it may have been cut meanwhile
    if (stream.bad())
        throw ArgumentError(path.string() + ": cannot be read");
    return text;
}

} // namespace kvscope
