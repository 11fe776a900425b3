#include "engine/train/whole_file.h"

#include "engine/base/errors.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

namespace kvscope {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& why)
{
    throw EngineError(file.string() + ": cannot be written: " + why);
}

void writePart(const std::filesystem::path& part, std::string_view bytes)
{
    std::ofstream stream(part, std::ios::binary | std::ios::trunc);
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    stream.close();
}

} // namespace

std::string readWholeFile(const std::filesystem::path& file)
{
    std::ifstream stream(file, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(stream), {});
    if (!stream.is_open() || stream.bad()) // a folder opens, and then fails
        throw EngineError(file.string() + ": cannot be read");
    return bytes;
}

void writeWholeFile(const std::filesystem::path& file, std::string_view bytes)
{
    std::error_code error;
    if (file.has_parent_path())
        std::filesystem::create_directories(file.parent_path(), error);
    if (error)
        fail(file, error.message());
    const std::filesystem::path part = file.string() + "." + std::to_string(::getpid()) + ".part";
    errno = 0;
    writePart(part, bytes);
    const int reason = errno;
    const bool isWhole = std::filesystem::file_size(part, error) == bytes.size() && !error;
    if (isWhole)
        std::filesystem::rename(part, file, error);
    if (isWhole && !error)
        return;
    const std::string why = isWhole ? error.message() : std::strerror(reason);
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    fail(file, why);
}

} // namespace kvscope
