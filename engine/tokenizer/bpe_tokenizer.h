#pragma once

#include "engine/tokenizer/bpe_merger.h"
#include "engine/tokenizer/control_matcher.h"
#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/tokenizer.h"

#include <string>
#include <vector>

namespace kvscope {

/// Byte-level BPE as GPT-2 introduced it, from a GGUF vocabulary.
///
/// User-defined tokens are found in every text, control tokens where they are to be parsed; what
/// lies between is split by the pre-tokenizer and merged. Concatenated pieces give the text back.
class BpeTokenizer : public Tokenizer
{
public:
    /// \throws TokenizerError for a pre-tokenizer that is not known or a merge that makes no sense.
    explicit BpeTokenizer(const BpeVocabulary& vocabulary);

    std::vector<TokenId> encode(std::string_view text, ControlTokens control) const override;
    std::string piece(TokenId id) const override;
    std::string decode(const std::vector<TokenId>& ids) const override;
    bool isControl(TokenId id) const override;
    std::optional<TokenId> controlToken(std::string_view text) const override;
    std::int64_t vocabularySize() const override;
    std::string description() const override;

private:
    void requireTokens(std::string_view plain, std::string_view whole) const;
    const std::string& pieceOf(TokenId id) const;

    std::string m_preTokenizerName;
    PreTokenizer m_preTokenizer;
    BpeMerger m_merger;
    ControlMatcher m_userDefined;           ///< found in every text
    ControlMatcher m_controlAndUserDefined; ///< found where control tokens are parsed
    std::vector<std::string> m_pieces;      ///< bytes by id
    std::vector<bool> m_isControl;          ///< by id
};

} // namespace kvscope
