#pragma once

#include "engine/checkpoint/model_config.h"
#include "engine/checkpoint/model_tensors.h"
#include "engine/checkpoint/tensor_file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// A byte-level BPE vocabulary as GGUF metadata states it, checked: lengths agree, ids are in
/// range.
struct BpeVocabulary
{
    std::vector<std::string> tokens; ///< in the byte-to-character alphabet of GPT-2
    std::vector<std::string> merges; ///< "left right", best rank first
    std::vector<std::int32_t>
        types;                ///< GGUF token types (1 normal, 3 control, 4 user-defined, ...)
    std::string preTokenizer; ///< "smollm", "gpt-2", ...
};

/// What a checkpoint says of its tokenizer, before one is built from it.
struct TokenizerSource
{
    std::optional<BpeVocabulary> bpe;        ///< GGUF, tokenizer.ggml.model = gpt2
    std::filesystem::path sentencePieceFile; ///< `tokenizer.model` beside the weights, or empty
    std::string unsupported;  ///< why there is a tokenizer that cannot be used, or empty
    std::string chatTemplate; ///< Jinja text, or empty
    std::optional<std::int64_t> beginToken; ///< BOS
    std::vector<std::int64_t> endTokens;    ///< EOS, end of turn; all below the vocabulary size
    bool addsBeginToken = false;            ///< the file asks for BOS before a prompt
};

/// One check made of a file and how it went; a checkpoint that opened has only passed ones.
struct CheckNote
{
    std::string text;
};

/// An opened model: configuration, tensors in mapped files, tokenizer source. Opening reads headers
/// only; weights are read when the Decoder is built. Immutable, shared between threads.
struct Checkpoint
{
    std::filesystem::path path; ///< as asked for
    std::string format;         ///< "GGUF v3", "Hugging Face folder", "GPT-OSS-Lite safetensors"
    ModelConfig config;
    std::vector<std::shared_ptr<const TensorFile>> files;
    ModelTensors tensors; ///< what the Decoder reads, by role
    TokenizerSource tokenizer;
    std::vector<CheckNote> checks;
    std::vector<std::string> warnings; ///< opened all the same: one line each

    /// The tensor of that name in any file, or null.
    const TensorInfo* find(std::string_view name) const;
    /// Bytes of all tensors as stored.
    std::uint64_t weightBytes() const;
    /// "Q4_1, F32, Q8_0": the storage types in use, most bytes first.
    std::string storageSummary() const;
};

/// Opens a .gguf file, a Hugging Face folder, a GPT-OSS-Lite folder, or a .safetensors with its
/// YAML or config.json beside it, and checks it whole: every header length, every span, every
/// tensor's name, type and shape against the configuration, missing and unexpected tensors by name.
/// \throws CheckpointError with one sentence naming file, tensor or key, expected and found.
std::shared_ptr<const Checkpoint> openCheckpoint(const std::filesystem::path& path);

/// What a .gguf file says of its tokenizer; the file needs no tensors and no architecture. Without
/// any `tokenizer.ggml.*` key the source is empty. The vocabulary size is the number of its tokens.
/// \throws CheckpointError for a file that is not GGUF or whose tokenizer metadata contradicts
/// itself.
TokenizerSource readTokenizerSource(const std::filesystem::path& ggufFile);

} // namespace kvscope
