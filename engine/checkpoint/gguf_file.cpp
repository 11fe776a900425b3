#include "engine/checkpoint/gguf_file.h"

#include "engine/checkpoint/error_text.h"
#include "engine/checkpoint/gguf_parser.h"
#include "engine/checkpoint/gguf_split.h"

#include <iterator>
#include <limits>
#include <utility>

namespace kvscope {

GgufFile::GgufFile(const std::filesystem::path& path)
{
    CheckLog log;
    *this = GgufFile(path, log);
}

GgufFile::GgufFile(const std::filesystem::path& path, CheckLog& log)
{
    std::vector<MappedFile> mapped;
    std::vector<std::string> paths;
    std::vector<std::string> names;
    std::vector<GgufContent> contents;
    for (const auto& part : ggufParts(path)) {
        paths.push_back(part.string());
        names.push_back(part.filename().string());
        mapped.emplace_back(part);
        contents.push_back(parseGguf(mapped.back().bytes(), names.back(), log));
    }
    log.run({.section = CheckSection::Header,
             .file = names.front(),
             .what = "its parts, where it is split, belong together and are all there"},
            [&](CheckEntry& entry) {
                checkGgufParts(names, contents);
                entry.found = contents.size() == 1 ? std::string("one file")
                                                   : std::to_string(contents.size()) + " parts";
            });
    m_name = names.front();
    m_version = contents.front().version;
    m_alignment = contents.front().alignment;
    m_metadata = std::move(contents.front().metadata);
    for (std::size_t i = 0; i < contents.size(); ++i) {
        auto& unread = contents[i].unread;
        m_unread.insert(m_unread.end(), std::make_move_iterator(unread.begin()),
                        std::make_move_iterator(unread.end()));
        m_files.push_back(std::make_shared<const TensorFile>(
            std::move(paths[i]), std::move(mapped[i]), std::move(contents[i].tensors)));
    }
}

const TensorInfo* GgufFile::findTensor(std::string_view name) const
{
    for (const auto& file : m_files)
        if (const TensorInfo* tensor = file->find(name); tensor != nullptr)
            return tensor;
    return nullptr;
}

std::size_t GgufFile::numTensors() const
{
    std::size_t count = 0;
    for (const auto& file : m_files)
        count += file->tensors().size();
    return count;
}

const GgufValue* GgufFile::find(std::string_view key) const
{
    const auto found = m_metadata.find(key);
    return found == m_metadata.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> GgufFile::count(std::string_view key) const
{
    const GgufValue* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (const auto* plain = std::get_if<std::uint64_t>(value)) {
        if (*plain <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return static_cast<std::int64_t>(*plain);
    } else if (const auto* withSign = std::get_if<std::int64_t>(value)) {
        if (*withSign >= 0)
            return *withSign;
    }
    wrongType(key, "a whole number from 0 to 2^63 - 1");
}

std::optional<double> GgufFile::number(std::string_view key) const
{
    const GgufValue* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (const auto* real = std::get_if<double>(value))
        return *real;
    if (const auto* plain = std::get_if<std::uint64_t>(value))
        return static_cast<double>(*plain);
    if (const auto* withSign = std::get_if<std::int64_t>(value))
        return static_cast<double>(*withSign);
    wrongType(key, "a number");
}

std::optional<bool> GgufFile::flag(std::string_view key) const
{
    const GgufValue* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    if (const auto* truth = std::get_if<bool>(value))
        return *truth;
    wrongType(key, "a boolean");
}

const std::string* GgufFile::text(std::string_view key) const
{
    const GgufValue* value = find(key);
    if (value == nullptr)
        return nullptr;
    if (const auto* string = std::get_if<std::string>(value))
        return string;
    wrongType(key, "text");
}

const GgufArray* GgufFile::array(std::string_view key) const
{
    const GgufValue* value = find(key);
    if (value == nullptr)
        return nullptr;
    if (const auto* list = std::get_if<GgufArray>(value))
        return list;
    wrongType(key, "an array");
}

void GgufFile::wrongType(std::string_view key, std::string_view expected) const
{
    failIn(m_name, "the metadata key " + printable(key) + " is not " + std::string(expected));
}

} // namespace kvscope
