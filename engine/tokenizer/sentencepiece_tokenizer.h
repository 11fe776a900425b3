#pragma once

#include "engine/tokenizer/control_matcher.h"
#include "engine/tokenizer/sentencepiece_types.h"
#include "engine/tokenizer/tokenizer.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace kvscope {

/// A sentencepiece model (BPE or unigram), by the sentencepiece library.
///
/// Text taken literally goes to the library whole, which never makes a control piece of it. Where
/// control tokens are parsed, each stretch between two of them is a sentence of its own to the
/// library, with the space it puts in front, as in mistral_common; decode() takes these spaces away
/// again.
class SentencePieceTokenizer : public Tokenizer
{
public:
    /// \throws TokenizerError for a damaged model, CheckpointError for a file that cannot be read.
    explicit SentencePieceTokenizer(const std::filesystem::path& modelFile);
    ~SentencePieceTokenizer() override;

    std::vector<TokenId> encode(std::string_view text, ControlTokens control) const override;
    std::string piece(TokenId id) const override;
    /// Bytes that never become a character come out as U+FFFD, each; the library does that.
    std::string decode(const std::vector<TokenId>& ids) const override;
    bool isControl(TokenId id) const override;
    std::optional<TokenId> controlToken(std::string_view text) const override;
    std::int64_t vocabularySize() const override;
    std::string description() const override;

private:
    void appendEncoded(std::string_view sentence, std::vector<TokenId>& ids) const;
    std::string decodeSentence(const std::vector<int>& ids) const;
    PieceType typeOf(TokenId id) const;

    std::unique_ptr<sentencepiece::SentencePieceProcessor> m_library;
    std::vector<PieceType> m_types; ///< by id
    ControlMatcher m_control;
    ControlMatcher m_controlAndUserDefined;
};

} // namespace kvscope
