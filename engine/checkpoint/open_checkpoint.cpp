#include "engine/base/cut_files.h"
#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/base/utf8.h"
#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/gpt_oss_lite.h"
#include "engine/checkpoint/check_log.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/checkpoint_files.h"
#include "engine/checkpoint/error_text.h"
#include "engine/checkpoint/ggml_types.h"
#include "engine/checkpoint/gguf_file.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/checkpoint/strict_json.h"
#include "engine/checkpoint/tokenizer_source.h"
#include "engine/checkpoint/yaml_config.h"

#include <map>

namespace kvscope {
namespace {

namespace fs = std::filesystem;

/// The folder's or file's own name, whatever way the path was spelt ("." and "a/../b" have one
/// too).
std::string nameFor(const fs::path& path)
{
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(path, error);
    const fs::path& known = error ? path : whole;
    const bool saysNothing = known.filename() == "model.safetensors";
    const fs::path telling = saysNothing ? known.parent_path() : known;
    return toValidUtf8(
        (fs::is_directory(telling, error) ? telling.filename() : telling.stem()).string());
}

void refuseUnread(const GgufFile& file)
{
    const auto& unread = file.unread();
    if (unread.empty())
        return;
    const std::string others =
        unread.size() == 1 ? ""
                           : " (and " + std::to_string(unread.size() - 1) + " more such tensors)";
    failIn(file.name(), printable(unread.front().name) + " is stored as " +
                            ggmlTypeText(unread.front().typeNumber) + others +
                            ", which this version does not read; " + weightTypeNames() + " are");
}

CheckEntry about(CheckSection section, const std::string& file, std::string what)
{
    return {.section = section, .file = file, .what = std::move(what)};
}

/// Keeps what opening found odd but not wrong, from the given line of `warnings` on.
void noteWarnings(CheckSection section, const std::string& file,
                  const std::vector<std::string>& warnings, std::size_t first, CheckLog& log)
{
    for (std::size_t i = first; i < warnings.size(); ++i)
        log.add({section, CheckResult::Warning, file, "can be used as it is", warnings[i], {}});
}

std::string tokenizerFound(const TokenizerSource& source)
{
    const auto count = [](const auto& list) {
        return formatCount(static_cast<std::int64_t>(list.size()));
    };
    if (!source.unsupported.empty())
        return source.unsupported;
    if (source.bpe)
        return count(source.bpe->tokens) + " tokens, " + count(source.bpe->merges) + " merges";
    if (source.scored)
        return count(source.scored->tokens) + " tokens with scores";
    for (const fs::path& file :
         {source.tokenizerJsonFile, source.sentencePieceFile, source.tiktokenFile})
        if (!file.empty())
            return file.filename().string();
    return "none";
}

/// Reads the configuration by `read`, then holds it against what models can be.
template <typename Read>
void takeConfig(Checkpoint& checkpoint, const std::string& file, CheckLog& log, Read read)
{
    log.run(about(CheckSection::Configuration, file, "describes a model that this version runs"),
            [&](CheckEntry& entry) {
                checkpoint.config = read();
                entry.found = checkpoint.config.architecture;
            });
    log.run(about(CheckSection::Configuration, file,
                  "its numbers are such as a model can have, and agree with each other"),
            [&](CheckEntry& entry) {
                validate(checkpoint.config, file);
                entry.found = summary(checkpoint.config);
            });
}

/// Binds the tensors and reads the tokenizer, which do not depend on each other.
template <typename Bind, typename ReadTokenizer>
void takeTensorsAndTokenizer(Checkpoint& checkpoint, const std::string& configFile,
                             const std::string& tokenizerFile, CheckLog& log, Bind bind,
                             ReadTokenizer readTokenizer)
{
    log.attempt(about(CheckSection::Tensors, {}, "the tensors are those of the model"),
                [&](CheckEntry& entry) {
                    TensorBinder binder(checkpoint.files, configFile, log);
                    checkpoint.tensors = bind(binder);
                    entry.found = formatCount(checkpoint.config.totalParameters()) +
                                  " parameters in " + formatFileSize(checkpoint.weightBytes());
                });
    const std::size_t numWarnings = checkpoint.warnings.size();
    log.attempt(about(CheckSection::Tokenizer, tokenizerFile,
                      "vocabulary, merges and special ids agree with each other and the model"),
                [&](CheckEntry& entry) {
                    checkpoint.tokenizer = readTokenizer();
                    entry.found = tokenizerFound(checkpoint.tokenizer);
                    if (!checkpoint.tokenizer.unsupported.empty())
                        entry.result = CheckResult::Warning;
                });
    noteWarnings(CheckSection::Tokenizer, tokenizerFile, checkpoint.warnings, numWarnings, log);
    log.throwFirstFailure();
}

/// Every tensor of a type that cannot be read, by name.
void noteUnread(const GgufFile& file, CheckLog& log)
{
    for (const UnreadTensor& tensor : file.unread())
        log.add({CheckSection::TensorTable,
                 CheckResult::Failed,
                 file.name(),
                 printable(tensor.name) + " is of a type that is read",
                 "it is stored as " + ggmlTypeText(tensor.typeNumber),
                 {}});
}

ModelConfig readGgufConfig(const GgufFile& file, CheckLog& log)
{
    const std::string* architecture = file.text("general.architecture");
    if (architecture == nullptr)
        failIn(file.name(), "the metadata has no general.architecture");
    const Family* family = findGgufFamily(*architecture);
    if (family == nullptr || family->readGguf == nullptr)
        failIn(file.name(), "general.architecture is " + printable(*architecture) +
                                "; of GGUF files, this version reads " + ggufArchitecturesRead());
    if (file.numTensors() == 0 && file.unread().empty())
        failIn(file.name(),
               "holds no tensors, only metadata; it can serve as a tokenizer, not as a model");
    noteUnread(file, log);
    refuseUnread(file);
    return family->readGguf(file);
}

void openGguf(const CheckpointFiles& files, Checkpoint& checkpoint, CheckLog& log)
{
    const GgufFile file(files.weights.front(), log);
    checkpoint.format = "GGUF v" + std::to_string(file.version());
    checkpoint.files = file.files();
    takeConfig(checkpoint, file.name(), log, [&] { return readGgufConfig(file, log); });
    if (const std::string* name = file.text("general.name"); name != nullptr && !name->empty())
        checkpoint.config.name = printable(*name);
    takeTensorsAndTokenizer(
        checkpoint, "its metadata", file.name(), log,
        [&](TensorBinder& binder) { return bindGguf(checkpoint.config, binder); },
        [&] {
            return readGgufTokenizer(file, checkpoint.config.vocabularySize, checkpoint.warnings);
        });
}

void checkShards(const CheckpointFiles& files, const Checkpoint& checkpoint)
{
    std::map<std::string, const TensorFile*> fileOf;
    for (std::size_t i = 0; i < files.weights.size(); ++i)
        fileOf.emplace(files.weights[i].filename().string(), checkpoint.files[i].get());
    for (const auto& [tensor, shard] : files.shardOf)
        if (fileOf.at(shard)->find(tensor) == nullptr)
            failIn(shard, printable(tensor) +
                              " is missing, which model.safetensors.index.json places there");
}

/// The configuration beside the weights, read by `read` as text of its own form.
template <typename Read>
ConfigObject readConfigFile(const fs::path& path, std::string what, CheckLog& log, Read read)
{
    std::optional<ConfigObject> config;
    log.run(about(CheckSection::Configuration, path.filename().string(), std::move(what)),
            [&](CheckEntry& entry) {
                std::error_code ignored;
                entry.bytes = {0, fs::file_size(path, ignored)};
                if (ignored)
                    entry.bytes.reset();
                config = read();
            });
    return *std::move(config);
}

const Family& huggingFaceFamily(const ConfigObject& config)
{
    const auto type = config.text("model_type");
    if (!type)
        config.fail("model_type", "is missing; one of " + huggingFaceTypesRead() + " was expected");
    const Family* family = findHuggingFaceFamily(*type);
    if (family == nullptr || family->readHuggingFace == nullptr)
        config.fail("model_type", "is " + printable(*type) +
                                      "; of Hugging Face folders, this version reads " +
                                      huggingFaceTypesRead());
    return *family;
}

void openHuggingFace(const CheckpointFiles& files, Checkpoint& checkpoint, CheckLog& log)
{
    checkpoint.format = "Hugging Face folder";
    const ConfigObject config = readConfigFile(
        files.config, "is JSON in UTF-8, no key twice, at most 32 levels deep", log, [&] {
            return ConfigObject(readJsonObject(files.config), files.config.filename().string());
        });
    const Family* family = nullptr;
    takeConfig(checkpoint, config.file(), log, [&] {
        family = &huggingFaceFamily(config);
        return family->readHuggingFace(config);
    });
    takeTensorsAndTokenizer(
        checkpoint, config.file(), {}, log,
        [&](TensorBinder& binder) { return family->bindHuggingFace(checkpoint.config, binder); },
        [&] {
            return readFolderTokenizer(files.folder, config, checkpoint.config.vocabularySize,
                                       checkpoint.warnings);
        });
}

void openGptOssLite(const CheckpointFiles& files, Checkpoint& checkpoint, CheckLog& log)
{
    checkpoint.format = "GPT-OSS-Lite safetensors";
    const ConfigObject config = readConfigFile(files.config, "is YAML in UTF-8, no key twice", log,
                                               [&] { return readYamlConfig(files.config); });
    takeConfig(checkpoint, config.file(), log, [&] { return readGptOssLiteConfig(config); });
    takeTensorsAndTokenizer(
        checkpoint, config.file(), {}, log,
        [&](TensorBinder& binder) { return bindGptOssLite(checkpoint.config, binder); },
        [&] {
            return readFolderTokenizer(files.folder, config, checkpoint.config.vocabularySize,
                                       checkpoint.warnings);
        });
}

void openSafetensors(const CheckpointFiles& files, Checkpoint& checkpoint, CheckLog& log)
{
    for (const fs::path& weights : files.weights)
        checkpoint.files.push_back(readSafetensors(weights, log));
    if (!files.shardOf.empty())
        log.run(about(CheckSection::TensorTable, "model.safetensors.index.json",
                      "every tensor is in the file where the index places it"),
                [&](CheckEntry& entry) {
                    checkShards(files, checkpoint);
                    entry.found =
                        formatCount(static_cast<std::int64_t>(files.shardOf.size())) + " tensors";
                });
    if (files.kind == CheckpointFiles::Kind::HuggingFace)
        openHuggingFace(files, checkpoint, log);
    else
        openGptOssLite(files, checkpoint, log);
}

} // namespace

std::shared_ptr<const Checkpoint> openCheckpoint(const fs::path& path)
{
    CheckLog log;
    return openCheckpoint(path, log);
}

std::shared_ptr<const Checkpoint> openCheckpoint(const fs::path& path, CheckLog& log)
{
    auto checkpoint = std::make_shared<Checkpoint>();
    checkpoint->path = path;
    try {
        const CheckpointFiles files = locateCheckpoint(path, log);
        if (files.kind == CheckpointFiles::Kind::Gguf)
            openGguf(files, *checkpoint, log);
        else
            openSafetensors(files, *checkpoint, log);
        requireWholeFiles();
    } catch (const CheckpointError& error) {
        // What no check stands for, such as a shard that cannot be read.
        log.addFailure(about(CheckSection::Files, path.filename().string(), "can be read"), error);
        throw;
    }
    if (checkpoint->config.name.empty())
        checkpoint->config.name = nameFor(path);
    checkpoint->checks = log.entries();
    return checkpoint;
}

} // namespace kvscope
