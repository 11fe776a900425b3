#include "engine/checkpoint/safetensors_writer.h"

#include "engine/base/errors.h"
#include "engine/checkpoint/checked_math.h"
#include "engine/checkpoint/error_text.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

namespace kvscope {
namespace {

constexpr std::size_t kHeaderAlignment = 8; // as the format's own writer pads it

struct Header
{
    std::string text;
    std::uint64_t dataBytes = 0;
};

Header makeHeader(const std::vector<SafetensorsWriter::Tensor>& tensors)
{
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    Header header;
    for (const auto& tensor : tensors) {
        const auto bytes = storedBytes(tensor.type, tensor.shape);
        const auto end = bytes ? checkedAdd(header.dataBytes, *bytes) : std::nullopt;
        if (!end || isQuantized(tensor.type))
            throw ArgumentError(printable(tensor.name) + ": " +
                                std::string(storageName(tensor.type)) + " " +
                                shapeText(tensor.shape) + " cannot be written as safetensors");
        if (tensor.name == "__metadata__" || json.contains(tensor.name))
            throw ArgumentError(printable(tensor.name) + ": the name is taken");
        json[tensor.name] = {{"dtype", storageName(tensor.type)},
                             {"shape", tensor.shape},
                             {"data_offsets", {header.dataBytes, *end}}};
        header.dataBytes = *end;
    }
    header.text = json.dump();
    header.text.resize(
        (header.text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
    return header;
}

/// Renaming over a device, a pipe or a socket would put a file in its place.
void requireReplaceable(const std::filesystem::path& path)
{
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        throw ArgumentError(path.string() +
                            ": is there and is not a regular file, so it is left as it is");
}

} // namespace

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path, const std::vector<Tensor>& tensors)
    : m_path(std::move(path))
    , m_partPath(m_path.string() + "." + std::to_string(::getpid()) + ".part")
{
    requireReplaceable(m_path);
    const Header header = makeHeader(tensors);
    m_stream.open(m_partPath, std::ios::binary | std::ios::trunc);
    const std::uint64_t length = header.text.size();
    m_stream.write(reinterpret_cast<const char*>(&length), sizeof(length));
    m_stream.write(header.text.data(), static_cast<std::streamsize>(header.text.size()));
    if (!m_stream)
        failWriting();
    m_missingBytes = header.dataBytes;
}

SafetensorsWriter::~SafetensorsWriter()
{
    if (m_isFinished)
        return;
    m_stream.close();
    std::error_code ignored;
    std::filesystem::remove(m_partPath, ignored);
}

void SafetensorsWriter::write(std::span<const std::byte> bytes)
{
    if (bytes.size() > m_missingBytes)
        throw ArgumentError(m_path.string() + ": " + std::to_string(bytes.size()) +
                            " bytes were to be written where " + std::to_string(m_missingBytes) +
                            " are missing");
    m_stream.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    if (!m_stream)
        failWriting();
    m_missingBytes -= bytes.size();
}

void SafetensorsWriter::finish()
{
    if (m_missingBytes > 0)
        throw ArgumentError(m_path.string() + ": " + std::to_string(m_missingBytes) +
                            " bytes of tensors were not written");
    m_stream.close();
    if (!m_stream)
        failWriting();
    std::error_code error;
    std::filesystem::rename(m_partPath, m_path, error);
    if (error)
        throw EngineError(m_path.string() + ": cannot be written: " + error.message());
    m_isFinished = true;
}

void SafetensorsWriter::failWriting() const
{
    throw EngineError(m_path.string() + ": cannot be written: " + std::strerror(errno));
}

} // namespace kvscope
