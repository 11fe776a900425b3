#include "engine/checkpoint/safetensors.h"

#include "engine/checkpoint/byte_reader.h"
#include "engine/checkpoint/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace kvscope {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000; // the format's own limit

/// The types of the format that are read; storageName() spells them as the format does.
constexpr std::array kTypes = {
    StorageType::F64, StorageType::F32, StorageType::F16, StorageType::BF16, StorageType::I64,
    StorageType::I32, StorageType::I16, StorageType::I8,  StorageType::U8,   StorageType::Bool,
};

std::string_view readHeader(ByteReader& reader)
{
    const auto length = reader.read<std::uint64_t>("the header's length");
    if (length > kMaxHeaderBytes)
        failIn(reader.file(), "is not a safetensors file: its header would be " +
                                  std::to_string(length) + " bytes, 100000000 are allowed");
    const std::string_view header = reader.take(length, "the header");
    if (header.empty() || header.front() != '{')
        failIn(reader.file(), "is not a safetensors file: its header does not begin with '{'");
    return header;
}

StorageType storageType(const SafetensorsEntry& entry, const std::string& file)
{
    for (const StorageType type : kTypes)
        if (storageName(type) == entry.dtype)
            return type;
    failIn(file, printable(entry.name) + " is stored as " + printable(entry.dtype) +
                     ", which this version does not read");
}

std::vector<std::int64_t> signedShape(const SafetensorsEntry& entry, const std::string& file)
{
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    std::vector<std::int64_t> shape;
    for (const std::uint64_t size : entry.shape) {
        if (size > kMost)
            failIn(file, printable(entry.name) + " has a dimension of " + std::to_string(size));
        shape.push_back(static_cast<std::int64_t>(size));
    }
    return shape;
}

TensorInfo locate(const SafetensorsEntry& entry, std::uint64_t dataStart,
                  std::span<const std::byte> file, const std::string& fileName)
{
    TensorInfo tensor{.name = entry.name,
                      .type = storageType(entry, fileName),
                      .shape = signedShape(entry, fileName),
                      .fileOffset = dataStart + entry.begin,
                      .data = file.subspan(dataStart + entry.begin, entry.end - entry.begin)};
    const auto wanted = storedBytes(tensor.type, tensor.shape);
    const std::string what =
        printable(entry.name) + " is " + entry.dtype + " " + shapeText(tensor.shape);
    if (!wanted)
        failIn(fileName, what + ", more bytes than can be counted");
    if (*wanted != tensor.data.size())
        failIn(fileName, what + ", which takes " + std::to_string(*wanted) +
                             " bytes, but its span has " + std::to_string(tensor.data.size()));
    return tensor;
}

/// Spans in order of place must begin where the one before ended, and the last must end the file.
void checkSpans(const std::vector<SafetensorsEntry>& entries, std::uint64_t dataBytes,
                const std::string& file)
{
    std::uint64_t expected = 0;
    for (const SafetensorsEntry& entry : entries) {
        const std::string name = printable(entry.name);
        if (entry.begin != expected)
            failIn(file, name + " begins at data byte " + std::to_string(entry.begin) + ", but " +
                             std::to_string(expected) +
                             " was expected: tensors must follow each other " +
                             (entry.begin > expected ? "without holes" : "without overlap"));
        if (entry.end < entry.begin)
            failIn(file, name + " ends at data byte " + std::to_string(entry.end) +
                             ", before it begins at " + std::to_string(entry.begin));
        if (entry.end > dataBytes)
            failIn(file, name + " ends at data byte " + std::to_string(entry.end) +
                             ", but the file has " + std::to_string(dataBytes) +
                             ". It is damaged or was not copied whole.");
        expected = entry.end;
    }
    if (expected != dataBytes)
        failIn(file,
               "has " + std::to_string(dataBytes - expected) + " bytes after its last tensor");
}

} // namespace

std::shared_ptr<const TensorFile> readSafetensors(const std::filesystem::path& path)
{
    MappedFile file(path);
    const std::string name = path.filename().string();
    ByteReader reader(file.bytes(), name);
    auto entries = parseSafetensorsHeader(readHeader(reader), name);
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
        return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
    });
    checkSpans(entries, reader.remaining(), name);
    std::map<std::string, TensorInfo, std::less<>> tensors;
    for (const SafetensorsEntry& entry : entries)
        tensors.emplace(entry.name, locate(entry, reader.position(), file.bytes(), name));
    return std::make_shared<const TensorFile>(path.string(), std::move(file), std::move(tensors));
}

} // namespace kvscope
