#pragma once

#include "engine/checkpoint/checkpoint.h"
#include "engine/tokenizer/control_matcher.h"
#include "engine/tokenizer/merge_symbols.h"
#include "engine/tokenizer/token_index.h"
#include "engine/tokenizer/tokenizer.h"

#include <optional>
#include <string>
#include <vector>

namespace kvscope {

/// A sentencepiece BPE vocabulary as GGUF holds it (`tokenizer.ggml.model` = llama): of two
/// neighbours that together are a token, those with the best score merge first. What is no token in
/// the end becomes its bytes' tokens.
///
/// Text between control tokens is a sentence of its own, with the space in front that the file asks
/// for, as SentencePieceTokenizer has it; user-defined tokens do not begin a sentence. decode()
/// takes these spaces away again. Source: sentencepiece src/bpe_model.cc.
class ScoredTokenizer : public Tokenizer
{
public:
    /// \throws TokenizerError where neither all bytes nor unknown text have a token
    explicit ScoredTokenizer(const ScoredVocabulary& vocabulary);

    std::vector<TokenId> encode(std::string_view text, ControlTokens control) const override;
    std::string piece(TokenId id) const override;
    std::string decode(const std::vector<TokenId>& ids) const override;
    bool isControl(TokenId id) const override;
    std::optional<TokenId> controlToken(std::string_view text) const override;
    std::int64_t vocabularySize() const override;
    std::string description() const override;

private:
    struct Unmerged; // what an unused piece was merged from, by its text

    void encodeSentence(std::string_view sentence, MergeList& list,
                        std::vector<TokenId>& ids) const;
    void encodeStretch(std::string_view stretch, MergeList& list, std::vector<TokenId>& ids) const;
    void addFinal(std::string_view piece, std::int32_t token, const Unmerged& unmerged,
                  std::vector<TokenId>& ids, bool& isAfterUnknown) const;
    void addWithoutToken(std::string_view piece, std::vector<TokenId>& ids,
                         bool& isAfterUnknown) const;
    GgufTokenType typeOf(TokenId id) const;

    std::vector<std::string> m_pieces;      ///< bytes by id
    std::vector<GgufTokenType> m_types;     ///< by id
    std::vector<std::uint32_t> m_ranks;     ///< by id, the best score's is 0
    TokenIndex m_index;                     ///< pieces that merging makes
    std::vector<std::int32_t> m_byteTokens; ///< by byte; empty where some are missing
    std::optional<std::int64_t> m_unknownToken;
    bool m_addsSpacePrefix = true;
    ControlMatcher m_control;
    ControlMatcher m_userDefined; ///< in spaces written as U+2581
    ControlMatcher m_controlAndUserDefined;
};

} // namespace kvscope
