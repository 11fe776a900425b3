#pragma once

#include "engine/tokenizer/added_vocabulary.h"
#include "engine/tokenizer/bpe_model.h"
#include "engine/tokenizer/normalizer.h"
#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/token_decoder.h"
#include "engine/tokenizer/tokenizer.h"

#include <bitset>
#include <string>
#include <vector>

namespace kvscope {

/// All that makes one BPE tokenizer, from whatever file it was read.
struct BpeParts
{
    std::string kind; ///< "byte-level BPE (smollm)", for the description
    std::vector<AddedToken> addedTokens;
    Normalizer normalizer;
    PreTokenizer preTokenizer;
    BpeRules rules;
    TokenDecoder decoder;
};

/// BPE, byte-level as GPT-2 introduced it or on characters as sentencepiece has it.
///
/// Added tokens are found in the text first; what lies between them is normalized, cut into
/// stretches and merged. Source: Hugging Face tokenizers, src/tokenizer.
class BpeTokenizer : public Tokenizer
{
public:
    /// \throws TokenizerError for a merge that makes no sense, or added tokens that contradict each
    /// other or the vocabulary
    explicit BpeTokenizer(BpeParts parts);

    std::vector<TokenId> encode(std::string_view text, ControlTokens control) const override;
    std::string piece(TokenId id) const override;
    std::string decode(const std::vector<TokenId>& ids) const override;
    bool isControl(TokenId id) const override;
    std::optional<TokenId> controlToken(std::string_view text) const override;
    std::int64_t vocabularySize() const override;
    std::string description() const override;

private:
    void encodePlain(const TextSegment& segment, std::string_view whole, ControlTokens control,
                     MergeList& list, std::vector<TokenId>& ids) const;
    void requireByteTokens(std::string_view plain, std::string_view whole) const;
    std::string spelling(TokenId id) const;

    std::string m_kind;
    std::int64_t m_size = 0; ///< one more than the greatest id
    Normalizer m_normalizer;
    PreTokenizer m_preTokenizer;
    AddedVocabulary m_added;
    BpeModel m_model;
    TokenDecoder m_decoder;
    bool m_spellsBytes = false;
    std::bitset<256> m_missingBytes; ///< without a token, where there is none for unknown ones
};

} // namespace kvscope
