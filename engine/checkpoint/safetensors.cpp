#include "engine/checkpoint/safetensors.h"

#include "engine/base/units.h"
#include "engine/checkpoint/byte_reader.h"
#include "engine/checkpoint/check_log.h"
#include "engine/checkpoint/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace kvscope {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000; // the format's own limit
constexpr int kMostMisplaced = 100;                    // of which each is named

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

/// A tensor's span must begin where the one before it ended, and lie inside the data.
/// \param expected  where that was
void checkSpan(const SafetensorsEntry& entry, std::uint64_t expected, std::uint64_t dataBytes,
               const std::string& file)
{
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
}

/// The steps of reading one file, each noted as a check.
class Reader
{
public:
    Reader(std::span<const std::byte> bytes, std::string file, CheckLog& log)
        : m_bytes(bytes)
        , m_file(std::move(file))
        , m_log(log)
    {
    }

    std::map<std::string, TensorInfo, std::less<>> read()
    {
        readEntries();
        std::sort(m_entries.begin(), m_entries.end(), [](const auto& a, const auto& b) {
            return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
        });
        for (const SafetensorsEntry& entry : m_entries) {
            if (place(entry) || ++m_numMisplaced < kMostMisplaced)
                continue;
            m_log.add({CheckSection::TensorTable,
                       CheckResult::Warning,
                       m_file,
                       "the tensors after these",
                       "were not looked at",
                       {}});
            break;
        }
        m_log.throwFirstFailure();
        checkEnd();
        return std::move(m_tensors);
    }

private:
    CheckEntry about(CheckSection section, std::string what) const
    {
        return {.section = section, .file = m_file, .what = std::move(what)};
    }

    void readEntries()
    {
        ByteReader reader(m_bytes, m_file);
        std::string_view header;
        m_log.run(about(CheckSection::Header, "a header of at most 100,000,000 bytes that begins "
                                              "with '{' follows its length"),
                  [&](CheckEntry& entry) {
                      entry.bytes = {0, std::min<std::uint64_t>(m_bytes.size(), 9)};
                      header = readHeader(reader);
                      entry.found =
                          formatCount(static_cast<std::int64_t>(header.size())) + " bytes";
                  });
        m_log.run(about(CheckSection::Header, "the header is JSON in UTF-8, no key twice, and of "
                                              "each tensor says type, shape and span"),
                  [&](CheckEntry& entry) {
                      entry.bytes = {reader.position() - header.size(), reader.position()};
                      m_entries = parseSafetensorsHeader(header, m_file);
                      entry.found =
                          formatCount(static_cast<std::int64_t>(m_entries.size())) + " tensors";
                  });
        m_dataStart = reader.position();
    }

    bool place(const SafetensorsEntry& entry)
    {
        const std::uint64_t expected = m_expected;
        m_expected = std::max(m_expected, entry.end);
        CheckEntry check = about(CheckSection::TensorTable,
                                 printable(entry.name) +
                                     ": joins the one before it, as many bytes as its shape has");
        if (entry.end <= m_bytes.size() && entry.begin <= entry.end)
            check.bytes = {m_dataStart + entry.begin, m_dataStart + entry.end};
        return m_log.attempt(std::move(check), [&](CheckEntry& made) {
            checkSpan(entry, expected, m_bytes.size() - m_dataStart, m_file);
            TensorInfo tensor = locate(entry, m_dataStart, m_bytes, m_file);
            made.found = entry.dtype + " " + shapeText(tensor.shape) + ", " +
                         formatFileSize(tensor.data.size());
            m_tensors.emplace(entry.name, std::move(tensor));
        });
    }

    void checkEnd()
    {
        m_log.run(about(CheckSection::TensorTable, "the last tensor ends with the file"),
                  [&](CheckEntry& entry) {
                      entry.bytes = {m_dataStart + m_expected, m_bytes.size()};
                      const std::uint64_t dataBytes = m_bytes.size() - m_dataStart;
                      if (m_expected != dataBytes)
                          failIn(m_file, "has " + std::to_string(dataBytes - m_expected) +
                                             " bytes after its last tensor");
                  });
    }

    std::span<const std::byte> m_bytes;
    std::string m_file;
    CheckLog& m_log;
    std::vector<SafetensorsEntry> m_entries;
    std::map<std::string, TensorInfo, std::less<>> m_tensors;
    std::uint64_t m_dataStart = 0;
    std::uint64_t m_expected = 0; ///< data byte at which the next tensor has to begin
    int m_numMisplaced = 0;
};

} // namespace

std::shared_ptr<const TensorFile> readSafetensors(const std::filesystem::path& path)
{
    CheckLog log;
    return readSafetensors(path, log);
}

std::shared_ptr<const TensorFile> readSafetensors(const std::filesystem::path& path, CheckLog& log)
{
    MappedFile file(path);
    auto tensors = Reader(file.bytes(), path.filename().string(), log).read();
    return std::make_shared<const TensorFile>(path.string(), std::move(file), std::move(tensors));
}

} // namespace kvscope
