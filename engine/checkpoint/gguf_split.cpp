#include "engine/checkpoint/gguf_split.h"

#include "engine/checkpoint/error_text.h"

#include <charconv>
#include <map>
#include <optional>
#include <string_view>

namespace kvscope {
namespace {

namespace fs = std::filesystem;

/// "NAME-00002-of-00003.gguf" taken apart.
struct PartName
{
    std::string stem;         ///< "NAME"
    std::uint32_t number = 0; ///< from 1
    std::uint32_t count = 0;
};

constexpr std::size_t kDigits = 5; // gguf-split writes "%05d"

std::optional<std::uint32_t> fiveDigits(std::string_view text)
{
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + kDigits ? std::optional(number)
                                                                : std::nullopt;
}

/// Nothing for a name that is not that of one of several parts.
std::optional<PartName> readPartName(std::string_view name)
{
    constexpr std::string_view kExtension = ".gguf";
    constexpr std::string_view kOf = "-of-";
    constexpr std::size_t kTail = 1 + kDigits + kOf.size() + kDigits + kExtension.size();
    if (!name.ends_with(kExtension) || name.size() <= kTail)
        return std::nullopt;
    const std::string_view tail = name.substr(name.size() - kTail);
    const auto number = fiveDigits(tail.substr(1, kDigits));
    const auto count = fiveDigits(tail.substr(1 + kDigits + kOf.size(), kDigits));
    if (tail.front() != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf || !number || !count ||
        *count < 2 || *number < 1 || *number > *count)
        return std::nullopt;
    return PartName{std::string(name.substr(0, name.size() - kTail)), *number, *count};
}

std::string padded(std::uint64_t number)
{
    std::string digits = std::to_string(number);
    if (digits.size() < kDigits)
        digits.insert(0, kDigits - digits.size(), '0');
    return digits;
}

std::string partSuffix(std::uint64_t number, std::uint64_t count)
{
    return "-" + padded(number) + "-of-" + padded(count) + ".gguf";
}

std::string partText(std::uint64_t number, std::uint64_t count)
{
    return "part " + std::to_string(number) + " of " + std::to_string(count);
}

/// A whole number of the metadata, or nothing where it is missing.
std::optional<std::uint64_t> countOf(const GgufContent& content, std::string_view key,
                                     const std::string& file)
{
    const auto found = content.metadata.find(key);
    if (found == content.metadata.end())
        return std::nullopt;
    if (const auto* plain = std::get_if<std::uint64_t>(&found->second))
        return *plain;
    if (const auto* withSign = std::get_if<std::int64_t>(&found->second);
        withSign && *withSign >= 0)
        return static_cast<std::uint64_t>(*withSign);
    failIn(file, "the metadata key " + std::string(key) + " is not a whole number");
}

const std::string* textOf(const GgufContent& content, std::string_view key)
{
    const auto found = content.metadata.find(key);
    return found == content.metadata.end() ? nullptr : std::get_if<std::string>(&found->second);
}

/// A part by its metadata must be the part it is by its name.
void checkPlace(const GgufContent& content, const std::string& file, std::uint64_t index,
                std::uint64_t numParts)
{
    const auto count = countOf(content, "split.count", file);
    const auto number = countOf(content, "split.no", file);
    if (numParts == 1) {
        if (count.value_or(1) > 1)
            failIn(file, "is " + partText(number.value_or(0) + 1, *count) +
                             " by its metadata, but is not named NAME" +
                             partSuffix(number.value_or(0) + 1, *count) +
                             ", by which the others are found");
        return;
    }
    if (!count)
        failIn(file,
               "is " + partText(index + 1, numParts) + " by its name, but has no split.count");
    if (*count != numParts)
        failIn(file, "split.count is " + std::to_string(*count) +
                         ", by the files' names there are " + std::to_string(numParts) +
                         " parts. It is probably of another model.");
    if (number != index)
        failIn(file, "is " + partText(index + 1, numParts) + " by its name, but split.no is " +
                         (number ? std::to_string(*number) : "missing") + "; " +
                         std::to_string(index) + " was expected, as parts count from 0");
}

void checkSameModel(const GgufContent& content, const std::string& file, const GgufContent& first,
                    const std::string& firstFile)
{
    constexpr std::string_view kTensors = "split.tensors.count";
    const auto total = countOf(content, kTensors, file);
    const auto firstTotal = countOf(first, kTensors, firstFile);
    if (total != firstTotal)
        failIn(file, "split.tensors.count is " + (total ? std::to_string(*total) : "missing") +
                         ", that of " + firstFile + " is " +
                         (firstTotal ? std::to_string(*firstTotal) : "missing") +
                         ". They are parts of different models.");
    for (const std::string_view key : {"general.architecture", "general.name"}) {
        const std::string* mine = textOf(content, key);
        const std::string* theirs = textOf(first, key);
        if (mine != nullptr && theirs != nullptr && *mine != *theirs)
            failIn(file, std::string(key) + " is " + printable(*mine) + ", that of " + firstFile +
                             " is " + printable(*theirs) + ". They are parts of different models.");
    }
}

/// Which part has which tensor, so that none is in two.
class TensorNames
{
public:
    explicit TensorNames(const std::vector<std::string>& files)
        : m_files(files)
    {
    }
    void add(const GgufContent& content, std::size_t part)
    {
        for (const auto& [name, tensor] : content.tensors)
            add(name, part);
        for (const UnreadTensor& tensor : content.unread)
            add(tensor.name, part);
    }
    std::size_t count() const { return m_partOf.size(); }

private:
    void add(std::string_view name, std::size_t part)
    {
        const auto [other, isNew] = m_partOf.emplace(name, part);
        if (!isNew)
            failIn(m_files[part], "holds the tensor " + printable(name) + ", which is also in " +
                                      m_files[other->second]);
    }

    const std::vector<std::string>& m_files;
    std::map<std::string_view, std::size_t> m_partOf;
};

} // namespace

std::vector<fs::path> ggufParts(const fs::path& path)
{
    const std::string name = path.filename().string();
    const auto part = readPartName(name);
    if (!part)
        return {path};
    std::vector<fs::path> parts;
    for (std::uint32_t number = 1; number <= part->count; ++number) {
        const std::string other = part->stem + partSuffix(number, part->count);
        parts.push_back(path.parent_path() / other);
        std::error_code ignored;
        if (!fs::is_regular_file(parts.back(), ignored))
            failIn(name, "is " + partText(part->number, part->count) + "; " + printable(other) +
                             " is not beside it, and all parts are needed");
    }
    return parts;
}

void checkGgufParts(const std::vector<std::string>& names, const std::vector<GgufContent>& contents)
{
    TensorNames tensors(names);
    for (std::size_t i = 0; i < contents.size(); ++i) {
        checkPlace(contents[i], names[i], i, contents.size());
        checkSameModel(contents[i], names[i], contents.front(), names.front());
        tensors.add(contents[i], i);
    }
    const auto total = countOf(contents.front(), "split.tensors.count", names.front());
    if (total && *total != tensors.count())
        failIn(names.front(), "split.tensors.count is " + std::to_string(*total) + ", but " +
                                  (contents.size() == 1 ? "the file holds "
                                                        : "its " + std::to_string(contents.size()) +
                                                              " parts hold ") +
                                  std::to_string(tensors.count()) + " tensors");
}

} // namespace kvscope
