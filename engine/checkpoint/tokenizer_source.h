#pragma once

#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/config_object.h"
#include "engine/checkpoint/gguf_file.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// A chat template from a file, if it is one that may be kept.
/// \throws CheckpointError naming the file and what is in it, beyond 1 MiB
std::string checkedTemplate(std::string_view text, const std::string& file, std::string_view what);

/// What GGUF metadata says of the tokenizer. Arrays are checked for type and length, ids for range.
/// \param vocabularySize  the model's, which the number of tokens must equal; nothing: that number
/// \param warnings  gets a line for every id that cannot be used
/// \throws CheckpointError naming the key
TokenizerSource readGgufTokenizer(const GgufFile& file, std::optional<std::int64_t> vocabularySize,
                                  std::vector<std::string>& warnings);

/// The tokenizer files beside safetensors weights: tokenizer.model, tokenizer.json, the chat
/// template of chat_template.jinja or tokenizer_config.json, and the special ids of `config` and
/// generation_config.json.
/// \param config  bos_token_id and eos_token_id, a number or a list of them
TokenizerSource readFolderTokenizer(const std::filesystem::path& folder, const ConfigObject& config,
                                    std::int64_t vocabularySize,
                                    std::vector<std::string>& warnings);

} // namespace kvscope
