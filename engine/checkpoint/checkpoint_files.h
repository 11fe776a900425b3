#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace kvscope {

class CheckLog;

/// The files that make a checkpoint, found by name; only their presence has been checked.
struct CheckpointFiles
{
    enum class Kind { Gguf, HuggingFace, GptOssLite };

    Kind kind = Kind::Gguf;
    std::filesystem::path folder;               ///< where tokenizer files are looked for
    std::filesystem::path config;               ///< config.json or the YAML; empty for GGUF
    std::vector<std::filesystem::path> weights; ///< one, or the shards or parts in order
    std::map<std::string, std::string> shardOf; ///< tensor to file name, where there is an index
};

/// Finds a checkpoint's files.
///
/// In a folder, config.json means Hugging Face, otherwise the only YAML means GPT-OSS-Lite; the
/// weights are model.safetensors, else the shards of model.safetensors.index.json, else the highest
/// model_step_N.safetensors; other files are ignored. Beside a .safetensors file its configuration
/// is the YAML of the same stem, else config.json, else the folder's only YAML. \throws
/// CheckpointError saying what was looked for and what is there instead
CheckpointFiles locateCheckpoint(const std::filesystem::path& path);
/// \param log  gets what was looked for; of missing shards, each
CheckpointFiles locateCheckpoint(const std::filesystem::path& path, CheckLog& log);

} // namespace kvscope
