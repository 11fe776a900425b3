#pragma once

#include "engine/checkpoint/checkpoint.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

using TokenId = std::int64_t;

/// Whether text such as "<|im_end|>" becomes the control token it spells.
enum class ControlTokens { Parsed, Literal };

/// Text to ids and back. Immutable after construction, so any thread may use it.
class Tokenizer
{
public:
    virtual ~Tokenizer() = default;

    /// No BOS is added. Time is linear in the text, up to a logarithm.
    /// \throws TokenizerError for text that is not UTF-8 (naming the byte), or a byte without a
    /// token.
    virtual std::vector<TokenId> encode(std::string_view text, ControlTokens control) const = 0;
    /// The bytes a token stands for; not always whole characters. Control tokens give their name.
    /// \throws ArgumentError for an id outside the vocabulary.
    virtual std::string piece(TokenId id) const = 0;
    /// The text of ids in sequence, as bytes; control tokens give their name. Of the space that
    /// sentencepiece puts in front of a text nothing is left. `decode(encode(text, ...))` is
    /// `text` where nothing normalizes it. \throws ArgumentError for an id beyond the vocabulary.
    virtual std::string decode(const std::vector<TokenId>& ids) const = 0;
    virtual bool isControl(TokenId id) const = 0;
    /// The control or user-defined token spelled `text`, if there is one.
    virtual std::optional<TokenId> controlToken(std::string_view text) const = 0;
    virtual std::int64_t vocabularySize() const = 0;
    /// One line: "byte-level BPE (smollm), 49,152 tokens".
    virtual std::string description() const = 0;
};

/// The tokenizer of a checkpoint, or null where it has none.
/// \throws TokenizerError where it has one that cannot be used: damaged, of a kind that is not
/// read, or with more ids than the model's embedding has rows; names the file
std::unique_ptr<const Tokenizer> makeTokenizer(const TokenizerSource& source);

/// A tokenizer from its own file: a tokenizer.json, a sentencepiece or tiktoken `.model`, or a
/// `.gguf` (with or without tensors).
/// \param modelVocabularySize  rows of the embedding of the model that it is for, if any: its ids
/// are then those of the model \throws TokenizerError, CheckpointError
std::unique_ptr<const Tokenizer>
openTokenizer(const std::filesystem::path& file,
              std::optional<std::int64_t> modelVocabularySize = std::nullopt);

} // namespace kvscope
