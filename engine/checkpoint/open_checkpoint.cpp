#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/base/utf8.h"
#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/gpt_oss_lite.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/checkpoint_files.h"
#include "engine/checkpoint/error_text.h"
#include "engine/checkpoint/ggml_types.h"
#include "engine/checkpoint/gguf_file.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/checkpoint/strict_json.h"
#include "engine/checkpoint/tokenizer_source.h"
#include "engine/checkpoint/yaml_config.h"

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

/// Formats say nothing of it, but weights of a type that nothing multiplies with are refused by the
/// binder.
void noteTensors(Checkpoint& checkpoint)
{
    std::size_t count = 0;
    for (const auto& file : checkpoint.files)
        count += file->tensors().size();
    checkpoint.checks.push_back({formatCount(static_cast<std::int64_t>(count)) + " tensors, " +
                                 formatFileSize(checkpoint.weightBytes()) +
                                 ": every span lies inside its file, none overlap"});
    checkpoint.checks.push_back(
        {"every tensor has the name, shape and type that the configuration asks for, "
         "none is missing and none is left over"});
    checkpoint.checks.push_back({formatCount(checkpoint.config.totalParameters()) + " parameters"});
}

void openGguf(const CheckpointFiles& files, Checkpoint& checkpoint)
{
    const GgufFile file(files.weights.front());
    checkpoint.format = "GGUF v" + std::to_string(file.version());
    checkpoint.files = file.files();
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
    refuseUnread(file);
    checkpoint.config = family->readGguf(file);
    validate(checkpoint.config, file.name());
    if (const std::string* name = file.text("general.name"); name != nullptr && !name->empty())
        checkpoint.config.name = printable(*name);
    TensorBinder binder(checkpoint.files, "its metadata");
    checkpoint.tensors = bindGguf(checkpoint.config, binder);
    checkpoint.tokenizer =
        readGgufTokenizer(file, checkpoint.config.vocabularySize, checkpoint.warnings);
    checkpoint.checks.push_back({formatCount(static_cast<std::int64_t>(file.metadata().size())) +
                                 " metadata entries, alignment " +
                                 std::to_string(file.alignment())});
}

void checkShards(const CheckpointFiles& files, const Checkpoint& checkpoint)
{
    for (const auto& [tensor, shard] : files.shardOf)
        for (std::size_t i = 0; i < files.weights.size(); ++i)
            if (files.weights[i].filename() == shard &&
                checkpoint.files[i]->find(tensor) == nullptr)
                failIn(shard, printable(tensor) + " is missing, which model.safetensors.index.json "
                                                  "places there");
}

void openHuggingFace(const CheckpointFiles& files, Checkpoint& checkpoint)
{
    checkpoint.format = "Hugging Face folder";
    const ConfigObject config(readJsonObject(files.config), files.config.filename().string());
    const auto type = config.text("model_type");
    if (!type)
        config.fail("model_type", "is missing; one of " + huggingFaceTypesRead() + " was expected");
    const Family* family = findHuggingFaceFamily(*type);
    if (family == nullptr || family->readHuggingFace == nullptr)
        config.fail("model_type", "is " + printable(*type) +
                                      "; of Hugging Face folders, this version reads " +
                                      huggingFaceTypesRead());
    checkpoint.config = family->readHuggingFace(config);
    validate(checkpoint.config, config.file());
    TensorBinder binder(checkpoint.files, config.file());
    checkpoint.tensors = family->bindHuggingFace(checkpoint.config, binder);
    checkpoint.tokenizer = readFolderTokenizer(
        files.folder, config, checkpoint.config.vocabularySize, checkpoint.warnings);
}

void openGptOssLite(const CheckpointFiles& files, Checkpoint& checkpoint)
{
    checkpoint.format = "GPT-OSS-Lite safetensors";
    const ConfigObject config = readYamlConfig(files.config);
    checkpoint.config = readGptOssLiteConfig(config);
    validate(checkpoint.config, config.file());
    TensorBinder binder(checkpoint.files, config.file());
    checkpoint.tensors = bindGptOssLite(checkpoint.config, binder);
    checkpoint.tokenizer = readFolderTokenizer(
        files.folder, config, checkpoint.config.vocabularySize, checkpoint.warnings);
}

void openSafetensors(const CheckpointFiles& files, Checkpoint& checkpoint)
{
    for (const fs::path& weights : files.weights)
        checkpoint.files.push_back(readSafetensors(weights));
    checkShards(files, checkpoint);
    if (files.kind == CheckpointFiles::Kind::HuggingFace)
        openHuggingFace(files, checkpoint);
    else
        openGptOssLite(files, checkpoint);
}

} // namespace

std::shared_ptr<const Checkpoint> openCheckpoint(const fs::path& path)
{
    const CheckpointFiles files = locateCheckpoint(path);
    auto checkpoint = std::make_shared<Checkpoint>();
    checkpoint->path = path;
    if (files.kind == CheckpointFiles::Kind::Gguf)
        openGguf(files, *checkpoint);
    else
        openSafetensors(files, *checkpoint);
    if (checkpoint->config.name.empty())
        checkpoint->config.name = nameFor(path);
    noteTensors(*checkpoint);
    return checkpoint;
}

} // namespace kvscope
