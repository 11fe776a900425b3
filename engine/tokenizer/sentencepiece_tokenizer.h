#pragma once

#include "engine/tokenizer/added_vocabulary.h"
#include "engine/tokenizer/sentencepiece_types.h"
#include "engine/tokenizer/tokenizer.h"

#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
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
/// again. Added tokens of a tokenizer_config.json part sentences likewise, and win over pieces of
/// their ids.
class SentencePieceTokenizer : public Tokenizer
{
public:
    /// \throws TokenizerError for a damaged model or added tokens far beyond it, CheckpointError
    /// for a file that cannot be read.
    explicit SentencePieceTokenizer(const std::filesystem::path& modelFile,
                                    const std::vector<AddedToken>& addedTokens = {});
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
    void addTokens(const std::vector<AddedToken>& addedTokens);
    void addPieces();
    void appendEncoded(std::string_view sentence, std::vector<TokenId>& ids) const;
    std::string decodeSentence(const std::vector<int>& ids) const;
    std::string ownPiece(TokenId id) const;
    bool endsSentence(TokenId id) const;
    bool isOwn(TokenId id) const { return id < static_cast<TokenId>(m_types.size()); }

    std::unique_ptr<sentencepiece::SentencePieceProcessor> m_library;
    std::vector<PieceType> m_types; ///< by id, of the model's own pieces
    AddedTokenFinder m_inText;      ///< control pieces and added tokens
    ControlMatcher m_controlAndUserDefined;
    std::unordered_map<TokenId, AddedToken> m_added;
    std::int64_t m_size = 0;
};

} // namespace kvscope
