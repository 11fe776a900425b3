#include "engine/checkpoint/checkpoint_files.h"

#include "engine/base/errors.h"
#include "engine/base/resource_folder.h"
#include "engine/base/units.h"
#include "engine/checkpoint/check_log.h"
#include "engine/checkpoint/error_text.h"
#include "engine/checkpoint/foreign_file.h"
#include "engine/checkpoint/gguf_split.h"
#include "engine/checkpoint/strict_json.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

namespace kvscope {
namespace {

namespace fs = std::filesystem;

std::string folderName(const fs::path& folder)
{
    const fs::path name =
        folder.has_filename() ? folder.filename() : folder.parent_path().filename();
    return name.string();
}

/// Regular files of a folder, by name.
std::vector<fs::path> filesIn(const fs::path& folder)
{
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
        if (std::error_code ignored; entry.is_regular_file(ignored))
            files.push_back(entry.path());
    if (error)
        failIn(folderName(folder), "the folder cannot be read: " + error.message());
    std::sort(files.begin(), files.end());
    return files;
}

bool isYaml(const fs::path& file)
{
    return file.extension() == ".yaml" || file.extension() == ".yml";
}

/// The only YAML, or nothing where there is none.
std::optional<fs::path> onlyYaml(const fs::path& folder, const std::vector<fs::path>& files)
{
    std::vector<fs::path> found;
    std::copy_if(files.begin(), files.end(), std::back_inserter(found), isYaml);
    if (found.size() > 1)
        failIn(folderName(folder),
               "holds " + std::to_string(found.size()) + " YAML files (" +
                   found[0].filename().string() + ", " + found[1].filename().string() +
                   (found.size() > 2 ? ", …" : "") + "); one configuration was expected");
    return found.empty() ? std::nullopt : std::optional(found.front());
}

/// N of "model_step_N.safetensors".
std::optional<std::uint64_t> stepOf(const fs::path& file)
{
    std::string_view name = file.native();
    name.remove_prefix(name.rfind('/') + 1); // npos + 1 is 0
    constexpr std::string_view kPrefix = "model_step_";
    constexpr std::string_view kSuffix = ".safetensors";
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix) ||
        name.size() <= kPrefix.size() + kSuffix.size())
        return std::nullopt;
    name = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
    std::uint64_t step = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
    if (error != std::errc{} || end != name.data() + name.size())
        return std::nullopt;
    return step;
}

std::optional<fs::path> highestStep(const std::vector<fs::path>& files)
{
    std::optional<fs::path> best;
    for (const fs::path& file : files)
        if (const auto step = stepOf(file); step && (!best || *step > *stepOf(*best)))
            best = file;
    return best;
}

/// An index maps every tensor to a file of the same folder, by plain name.
void readShardIndex(const fs::path& index, CheckpointFiles& files, CheckLog& log)
{
    const std::string name = index.filename().string();
    const nlohmann::json json = readJsonObject(index);
    const auto map = json.find("weight_map");
    if (map == json.end() || !map->is_object() || map->empty())
        failIn(name, "has no weight_map from tensors to files");
    std::set<std::string> shards;
    for (const auto& [tensor, file] : map->items()) {
        if (!file.is_string())
            failIn(name, "weight_map." + printable(tensor) + " is not a file name");
        const auto shard = file.get<std::string>();
        if (shard.empty() || shard.find('/') != std::string::npos || shard == "..")
            failIn(name, "weight_map." + printable(tensor) + " names " + printable(shard) +
                             ", which is not a file of this folder");
        files.shardOf.emplace(tensor, shard);
        shards.insert(shard);
    }
    for (const std::string& shard : shards)
        log.attempt({.section = CheckSection::Files,
                     .file = name,
                     .what = printable(shard) + ", which the index names, is in the folder"},
                    [&](CheckEntry& entry) {
                        if (!fs::is_regular_file(files.folder / shard))
                            failIn(name,
                                   "names " + printable(shard) + ", which is not in the folder");
                        files.weights.push_back(files.folder / shard);
                        entry.found = formatFileSize(fs::file_size(files.weights.back()));
                    });
    log.throwFirstFailure();
}

[[noreturn]] void failWithoutWeights(const fs::path& folder, const std::vector<fs::path>& files)
{
    for (const fs::path& file : files)
        for (const char* pickle : {".bin", ".pt", ".pth", ".ckpt"})
            if (file.extension() == pickle)
                refuseForeignFile(file);
    failIn(folderName(folder),
           "the folder has no weights: model.safetensors, "
           "model.safetensors.index.json or model_step_N.safetensors was expected");
}

void findWeights(const std::vector<fs::path>& inFolder, CheckpointFiles& files, CheckLog& log)
{
    const fs::path single = files.folder / "model.safetensors";
    const fs::path index = files.folder / "model.safetensors.index.json";
    if (fs::is_regular_file(single))
        files.weights = {single};
    else if (fs::is_regular_file(index))
        readShardIndex(index, files, log);
    else if (const auto step = highestStep(inFolder))
        files.weights = {*step};
    else
        failWithoutWeights(files.folder, inFolder);
}

[[noreturn]] void failWithoutModel(const fs::path& folder, const std::vector<fs::path>& files)
{
    for (const fs::path& file : files)
        if (file.extension() == ".gguf")
            failIn(folderName(folder), "the folder has no config.json and no YAML; to open " +
                                           file.filename().string() + ", name that file itself");
    failIn(folderName(folder),
           "the folder has no model: config.json (Hugging Face) or one YAML file "
           "(GPT-OSS-Lite) was expected beside the weights");
}

CheckpointFiles locateInFolder(const fs::path& folder, CheckLog& log)
{
    const auto inFolder = filesIn(folder);
    CheckpointFiles files;
    files.folder = folder;
    if (fs::is_regular_file(folder / "config.json")) {
        files.kind = CheckpointFiles::Kind::HuggingFace;
        files.config = folder / "config.json";
    } else if (const auto yaml = onlyYaml(folder, inFolder)) {
        files.kind = CheckpointFiles::Kind::GptOssLite;
        files.config = *yaml;
    } else {
        failWithoutModel(folder, inFolder);
    }
    findWeights(inFolder, files, log);
    return files;
}

CheckpointFiles locateBesideWeights(const fs::path& weights)
{
    const fs::path folder = weights.has_parent_path() ? weights.parent_path() : fs::path(".");
    CheckpointFiles files;
    files.kind = CheckpointFiles::Kind::GptOssLite;
    files.folder = folder;
    files.weights = {weights};
    for (const char* extension : {".yaml", ".yml"})
        if (const fs::path own = fs::path(weights).replace_extension(extension);
            fs::is_regular_file(own)) {
            files.config = own;
            return files;
        }
    if (fs::is_regular_file(folder / "config.json")) {
        files.kind = CheckpointFiles::Kind::HuggingFace;
        files.config = folder / "config.json";
        return files;
    }
    const auto yaml = onlyYaml(folder, filesIn(folder));
    if (!yaml)
        failIn(weights.filename().string(),
               "has no configuration beside it: " + weights.stem().string() +
                   ".yaml, config.json or one YAML file was expected");
    files.config = *yaml;
    return files;
}

CheckpointFiles locateGguf(const fs::path& path)
{
    CheckpointFiles files;
    files.kind = CheckpointFiles::Kind::Gguf;
    files.folder = path.parent_path();
    files.weights = ggufParts(path);
    return files;
}

/// The model that is shipped, or that scripts/train-demo --install made.
CheckpointFiles locateDemo(CheckLog& log)
{
    const fs::path demo = resourceFolder() / "demo";
    std::error_code ignored;
    if (!fs::exists(demo / "config.yaml", ignored))
        throw CheckpointError("The demo checkpoint is not in " + demo.string() +
                              ": scripts/train-demo --install makes it. Name a .gguf file, a "
                              "Hugging Face folder or a GPT-OSS-Lite folder.");
    return locateInFolder(demo, log);
}

CheckpointFiles locate(const fs::path& path, CheckLog& log)
{
    std::error_code ignored;
    if (path == "demo" && !fs::exists(path, ignored))
        return locateDemo(log);
    if (fs::is_directory(path, ignored))
        return locateInFolder(path, log);
    switch (detectFileKind(path)) {
    case FileKind::Gguf:
        return locateGguf(path);
    case FileKind::Safetensors:
        return locateBesideWeights(path);
    case FileKind::Foreign:
        break;
    }
    refuseForeignFile(path);
}

/// "GGUF file", "Hugging Face folder: config.json, 3 weight files"
std::string foundText(const CheckpointFiles& files)
{
    if (files.kind == CheckpointFiles::Kind::Gguf)
        return "a GGUF file";
    const std::string kind =
        files.kind == CheckpointFiles::Kind::HuggingFace ? "Hugging Face" : "GPT-OSS-Lite";
    return kind + ": " + files.config.filename().string() + ", " +
           (files.weights.size() == 1 ? files.weights.front().filename().string()
                                      : std::to_string(files.weights.size()) + " weight files");
}

} // namespace

CheckpointFiles locateCheckpoint(const fs::path& path)
{
    CheckLog log;
    return locateCheckpoint(path, log);
}

CheckpointFiles locateCheckpoint(const fs::path& path, CheckLog& log)
{
    CheckpointFiles files;
    log.run({.section = CheckSection::Files,
             .file = path.filename().string(),
             .what = "weights with their configuration, of a kind that is opened, are there"},
            [&](CheckEntry& entry) {
                files = locate(path, log);
                entry.found = foundText(files);
            });
    return files;
}

} // namespace kvscope
