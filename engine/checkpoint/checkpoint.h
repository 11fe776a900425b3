#pragma once

#include "engine/base/check_entry.h"
#include "engine/checkpoint/added_token.h"
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

class CheckLog;

/// What a token of a GGUF vocabulary is for. Source: ggml docs/gguf.md,
/// tokenizer.ggml.token_type.
enum class GgufTokenType : std::int32_t {
    Undefined = 0,
    Normal = 1,
    Unknown = 2,
    Control = 3,     ///< never made from plain text
    UserDefined = 4, ///< found in text before anything else
    Unused = 5,
    Byte = 6, ///< "<0x0A>"
};

/// A byte-level BPE vocabulary as GGUF metadata states it, checked: lengths agree, ids are in
/// range.
struct BpeVocabulary
{
    std::vector<std::string> tokens; ///< in the byte-to-character alphabet of GPT-2
    std::vector<std::string> merges; ///< "left right", best rank first
    std::vector<std::int32_t> types; ///< GgufTokenType by id
    std::string preTokenizer;        ///< "smollm", "gpt-2", ...
};

/// A sentencepiece BPE vocabulary as GGUF metadata states it, checked likewise.
struct ScoredVocabulary
{
    std::vector<std::string> tokens; ///< U+2581 for spaces
    std::vector<float> scores;       ///< by id, none NaN; the greatest is merged first
    std::vector<std::int32_t> types; ///< GgufTokenType by id
    bool addsSpacePrefix = true;     ///< a space goes in front of each text
    std::optional<std::int64_t> unknownToken;
};

/// What a checkpoint says of its tokenizer, before one is built from it. At most one of the
/// vocabularies and files is there.
struct TokenizerSource
{
    std::optional<BpeVocabulary> bpe;       ///< GGUF, tokenizer.ggml.model = gpt2
    std::optional<ScoredVocabulary> scored; ///< GGUF, tokenizer.ggml.model = llama
    std::filesystem::path tokenizerJsonFile;
    std::filesystem::path sentencePieceFile;
    std::filesystem::path tiktokenFile;
    std::vector<AddedToken> addedTokens; ///< of tokenizer_config.json, beside the latter two
    std::string file; ///< which the above is from, without its folder: for messages
    /// Rows of the model's embedding: ids below it that the tokenizer lacks are padding, and a
    /// larger vocabulary is an error. Nothing where there is no model.
    std::optional<std::int64_t> modelVocabularySize;
    std::string unsupported;  ///< why there is a tokenizer that cannot be used, or empty
    std::string chatTemplate; ///< Jinja text, or empty
    std::optional<std::int64_t> beginToken; ///< BOS
    std::vector<std::int64_t> endTokens;    ///< EOS, end of turn; all below the vocabulary size
    bool addsBeginToken = false;            ///< the file asks for BOS before a prompt
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
    std::vector<CheckEntry> checks;    ///< all that were made; none failed
    std::vector<std::string> warnings; ///< opened all the same: one line each

    /// The tensor of that name in any file, or null.
    const TensorInfo* find(std::string_view name) const;
    /// Bytes of all tensors as stored.
    std::uint64_t weightBytes() const;
    /// Bytes by storage type, most first.
    std::vector<std::pair<StorageType, std::uint64_t>> storageBytes() const;
    /// "Q4_1, F32, Q8_0": the storage types in use, most bytes first.
    std::string storageSummary() const;
};

/// Opens a .gguf file, a Hugging Face folder, a GPT-OSS-Lite folder, or a .safetensors with its
/// YAML or config.json beside it, and checks it whole: every header length, every span, every
/// tensor's name, type and shape against the configuration, missing and unexpected tensors by name.
/// \throws CheckpointError with one sentence naming file, tensor or key, expected and found.
std::shared_ptr<const Checkpoint> openCheckpoint(const std::filesystem::path& path);
/// \param log  gets each check made on the way, also of a checkpoint that does not open
std::shared_ptr<const Checkpoint> openCheckpoint(const std::filesystem::path& path, CheckLog& log);

/// What a tokenizer's own file says: a .gguf (which needs no tensors and no architecture), a
/// tokenizer.json, a sentencepiece or tiktoken `.model`; the latter three with the
/// tokenizer_config.json beside them. What kind it is, its content tells. A .gguf without any
/// `tokenizer.ggml.*` key gives an empty source.
/// \throws CheckpointError for a file that cannot be read or whose metadata contradicts itself
TokenizerSource readTokenizerSource(const std::filesystem::path& file);

} // namespace kvscope
