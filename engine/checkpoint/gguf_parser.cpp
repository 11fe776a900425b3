#include "engine/checkpoint/gguf_parser.h"

#include "engine/base/units.h"
#include "engine/checkpoint/byte_reader.h"
#include "engine/checkpoint/checked_math.h"
#include "engine/checkpoint/ggml_types.h"
#include "engine/checkpoint/gguf_value_reader.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

namespace kvscope {
namespace {

// The least a metadata entry takes (key length, one letter, type, one byte) and a tensor entry
// (name length, one letter, rank, type, offset): more entries than fit are a lie.
constexpr std::uint64_t kLeastEntryBytes = 8 + 1 + 4 + 1;
constexpr std::uint64_t kLeastTensorBytes = 8 + 1 + 4 + 4 + 8;
constexpr std::uint64_t kMaxNameBytes = 65535; // the format's limit for keys
constexpr std::uint64_t kMaxAlignment = 1 << 20;
constexpr std::uint32_t kMaxRank = 4; // GGML_MAX_DIMS
constexpr int kMostMisplaced = 100;   // of which each is named
constexpr std::string_view kAlignmentKey = "general.alignment";

struct TensorEntry
{
    std::string name;
    std::vector<std::int64_t> shape;
    std::uint32_t typeNumber = 0;
    std::uint64_t offset = 0; ///< from the start of the data
    std::uint64_t bytes = 0;  ///< 0 where the type is not known
};

class Parser
{
public:
    Parser(std::span<const std::byte> bytes, const std::string& file, CheckLog& log)
        : m_bytes(bytes)
        , m_reader(bytes, file)
        , m_file(file)
        , m_log(log)
    {
    }

    GgufContent parse()
    {
        std::uint64_t numTensors = 0;
        std::uint64_t numEntries = 0;
        std::vector<TensorEntry> entries;
        check(CheckSection::Header, "begins with GGUF, in a version and byte order that are read",
              [&] {
                  readMagic();
                  return "version " + std::to_string(m_content.version) + ", little-endian";
              });
        check(CheckSection::Header, "the counts can be true of a file this long", [&] {
            numTensors = readCount("tensors", kLeastTensorBytes);
            numEntries = readCount("metadata entries", kLeastEntryBytes);
            return counted(numTensors, "tensors") + ", " + counted(numEntries, "metadata entries");
        });
        check(CheckSection::Metadata,
              "every entry lies in the file, has a known type, no key twice", [&] {
                  for (std::uint64_t i = 0; i < numEntries; ++i)
                      readEntry();
                  return counted(numEntries, "entries");
              });
        check(CheckSection::Metadata, "the alignment is a power of two up to 1,048,576", [&] {
            readAlignment();
            return std::to_string(m_content.alignment);
        });
        check(CheckSection::TensorTable,
              "every tensor has a name, up to 4 dimensions, whole blocks", [&] {
                  for (std::uint64_t i = 0; i < numTensors; ++i)
                      entries.push_back(readTensor());
                  return counted(numTensors, "tensors");
              });
        placeTensors(std::move(entries));
        return std::move(m_content);
    }

private:
    static std::string counted(std::uint64_t count, const char* what)
    {
        return formatCount(static_cast<std::int64_t>(count)) + " " + what;
    }

    /// Notes a check of what comes next in the file: its bytes are those read meanwhile, or, where
    /// it fails, those of the entry that is wrong.
    template <typename Action>
    void check(CheckSection section, const char* what, Action action)
    {
        m_log.run({.section = section, .file = m_file, .what = what}, [&](CheckEntry& entry) {
            const std::uint64_t begin = m_item = m_reader.position();
            try {
                entry.found = action();
            } catch (const CheckpointError&) {
                entry.bytes = {m_item, m_reader.position()};
                throw;
            }
            if (m_reader.position() > begin)
                entry.bytes = {begin, m_reader.position()};
        });
    }

    void readMagic()
    {
        if (m_reader.remaining() < 4 || m_reader.take(4, "the magic") != "GGUF")
            failIn(m_file, "is not a GGUF file: it does not begin with GGUF");
        const auto version = m_reader.read<std::uint32_t>("the version");
        if (version != 0 && (version & 0xffffU) == 0)
            failIn(m_file, "is a big-endian GGUF file; only little-endian ones are read. "
                           "Convert it with gguf_convert_endian.py of llama.cpp.");
        if (version != 2 && version != 3)
            failIn(m_file,
                   "is GGUF version " + std::to_string(version) + "; versions 2 and 3 are read");
        m_content.version = version;
    }

    std::uint64_t readCount(const std::string& what, std::uint64_t leastBytes)
    {
        const auto count = m_reader.read<std::uint64_t>("the number of " + what);
        if (count > m_reader.remaining() / leastBytes)
            failIn(m_file, "claims " + std::to_string(count) + " " + what + ", but only " +
                               std::to_string(m_reader.remaining()) + " bytes follow");
        return count;
    }

    void readEntry()
    {
        m_item = m_reader.position();
        std::string key = m_values.readText("a metadata key", kMaxNameBytes);
        const std::string what = "the metadata key " + printable(key);
        if (key.empty())
            failIn(m_file, "has a metadata key without a name");
        if (m_content.metadata.contains(key))
            failIn(m_file, what + " is there twice");
        GgufValue value = m_values.readValue(what);
        m_content.metadata.emplace(std::move(key), std::move(value));
    }

    void readAlignment()
    {
        const auto found = m_content.metadata.find(kAlignmentKey);
        if (found == m_content.metadata.end())
            return;
        const auto* value = std::get_if<std::uint64_t>(&found->second);
        if (value == nullptr || !std::has_single_bit(*value) || *value > kMaxAlignment)
            failIn(m_file,
                   "general.alignment is " +
                       (value != nullptr ? std::to_string(*value) : "not an unsigned number") +
                       "; a power of two up to 1048576 was expected");
        m_content.alignment = *value;
    }

    TensorEntry readTensor()
    {
        m_item = m_reader.position();
        TensorEntry tensor;
        tensor.name = m_values.readText("a tensor's name", kMaxNameBytes);
        if (tensor.name.empty())
            failIn(m_file, "has a tensor without a name");
        const std::string what = printable(tensor.name);
        const auto rank = m_reader.read<std::uint32_t>("the number of dimensions of " + what);
        if (rank > kMaxRank)
            failIn(m_file,
                   what + " has " + std::to_string(rank) + " dimensions, at most 4 are allowed");
        for (std::uint32_t i = 0; i < rank; ++i) {
            const auto size = m_reader.read<std::uint64_t>("the shape of " + what);
            if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
                failIn(m_file, what + " has a dimension of " + std::to_string(size));
            // The file has the innermost dimension first.
            tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(size));
        }
        tensor.typeNumber = m_reader.read<std::uint32_t>("the type of " + what);
        tensor.offset = m_reader.read<std::uint64_t>("the offset of " + what);
        tensor.bytes = storedSize(tensor);
        return tensor;
    }

    std::uint64_t storedSize(const TensorEntry& tensor) const
    {
        const GgmlType* type = findGgmlType(tensor.typeNumber);
        if (type == nullptr)
            return 0;
        const auto row = static_cast<std::uint64_t>(tensor.shape.empty() ? 1 : tensor.shape.back());
        const std::string what = printable(tensor.name) + " is " + std::string(type->name) + " " +
                                 shapeText(tensor.shape);
        if (row % type->elements != 0)
            failIn(m_file,
                   what + ", whose rows are not whole blocks of " + std::to_string(type->elements));
        std::optional<std::uint64_t> count = 1;
        for (const std::int64_t size : tensor.shape)
            if (count)
                count = checkedMultiply(*count, static_cast<std::uint64_t>(size));
        const auto bytes =
            count ? checkedMultiply(*count / type->elements, type->bytes) : std::nullopt;
        if (!bytes)
            failIn(m_file, what + ", more bytes than can be counted");
        return *bytes;
    }

    /// Checks where every tensor lies and sorts them into those that are read and those that are
    /// not.
    void placeTensors(std::vector<TensorEntry> entries)
    {
        if (entries.empty())
            return;
        // Cannot overflow: the position is inside the file, and the alignment at most 2^20.
        const std::uint64_t start = (m_reader.position() + m_content.alignment - 1) /
                                    m_content.alignment * m_content.alignment;
        m_log.run({.section = CheckSection::TensorTable,
                   .file = m_file,
                   .what = "the tensors' data begins inside the file",
                   .bytes = ByteRange{start, m_bytes.size()}},
                  [&](CheckEntry& entry) {
                      if (start > m_bytes.size())
                          failIn(m_file,
                                 "ends before its tensors' data, which should begin at byte " +
                                     std::to_string(start));
                      entry.found = formatFileSize(m_bytes.size() - start);
                  });
        std::stable_sort(entries.begin(), entries.end(),
                         [](const auto& a, const auto& b) { return a.offset < b.offset; });
        const TensorEntry* previous = nullptr;
        int numMisplaced = 0;
        for (TensorEntry& tensor : entries) {
            if (!isWellPlaced(tensor, previous, start)) {
                if (++numMisplaced < kMostMisplaced)
                    continue;
                m_log.add({CheckSection::TensorTable,
                           CheckResult::Warning,
                           m_file,
                           "the tensors after these",
                           "were not looked at",
                           {}});
                break;
            } else if (tensor.bytes > 0) {
                previous = &tensor;
            }
        }
        m_log.throwFirstFailure();
        for (TensorEntry& tensor : entries)
            addTensor(tensor, start);
    }

    bool isWellPlaced(const TensorEntry& tensor, const TensorEntry* previous, std::uint64_t start)
    {
        const GgmlType* type = findGgmlType(tensor.typeNumber);
        const auto begin = checkedAdd(start, tensor.offset);
        return m_log.attempt(
            {.section = CheckSection::TensorTable,
             .file = m_file,
             .what = printable(tensor.name) + ": aligned, inside the file, apart from the others",
             .bytes = begin ? std::optional(ByteRange{
                                  *begin, checkedAdd(*begin, tensor.bytes).value_or(*begin)})
                            : std::nullopt},
            [&](CheckEntry& entry) {
                checkPlace(tensor, previous, m_bytes.size() - start);
                entry.found =
                    (type == nullptr ? ggmlTypeText(tensor.typeNumber) : std::string(type->name)) +
                    " " + shapeText(tensor.shape) + ", " + formatFileSize(tensor.bytes);
            });
    }

    void checkPlace(const TensorEntry& tensor, const TensorEntry* previous,
                    std::uint64_t dataBytes) const
    {
        const std::string what = printable(tensor.name);
        if (tensor.offset % m_content.alignment != 0)
            failIn(m_file, what + " begins at data byte " + std::to_string(tensor.offset) +
                               ", which is not a multiple of the alignment " +
                               std::to_string(m_content.alignment));
        const auto end = checkedAdd(tensor.offset, tensor.bytes);
        if (!end || *end > dataBytes)
            failIn(m_file, what + " takes " + std::to_string(tensor.bytes) +
                               " bytes from data byte " + std::to_string(tensor.offset) +
                               ", but the data has " + std::to_string(dataBytes) +
                               ". The file is damaged or was not copied whole.");
        if (tensor.bytes > 0 && previous != nullptr &&
            tensor.offset < previous->offset + previous->bytes)
            failIn(m_file, what + " overlaps " + printable(previous->name));
    }

    void addTensor(TensorEntry& entry, std::uint64_t start)
    {
        if (!m_names.insert(entry.name).second)
            failIn(m_file, "names the tensor " + printable(entry.name) + " twice");
        const GgmlType* type = findGgmlType(entry.typeNumber);
        if (type == nullptr || !type->storage) {
            m_content.unread.push_back({entry.name, entry.typeNumber, std::move(entry.shape)});
            return;
        }
        TensorInfo tensor{.name = entry.name,
                          .type = *type->storage,
                          .shape = std::move(entry.shape),
                          .fileOffset = start + entry.offset,
                          .data = m_bytes.subspan(start + entry.offset, entry.bytes)};
        m_content.tensors.emplace(std::move(entry.name), std::move(tensor));
    }

    std::span<const std::byte> m_bytes;
    ByteReader m_reader;
    GgufValueReader m_values{m_reader};
    const std::string& m_file;
    CheckLog& m_log;
    std::uint64_t m_item = 0; ///< where the entry that is being read begins
    std::set<std::string, std::less<>> m_names;
    GgufContent m_content;
};

} // namespace

GgufContent parseGguf(std::span<const std::byte> bytes, const std::string& file, CheckLog& log)
{
    return Parser(bytes, file, log).parse();
}

} // namespace kvscope
