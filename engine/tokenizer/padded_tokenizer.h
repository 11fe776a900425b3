#pragma once

#include "engine/tokenizer/tokenizer.h"

#include <memory>

namespace kvscope {

/// A tokenizer for a model whose embedding has more rows than the vocabulary has tokens, as many
/// do for the sake of round numbers. The ids beyond have a placeholder for a piece, and encoding
/// never gives them.
class PaddedTokenizer : public Tokenizer
{
public:
    /// \param vocabularySize  the model's, no less than the tokenizer's
    PaddedTokenizer(std::unique_ptr<const Tokenizer> tokenizer, std::int64_t vocabularySize);

    std::vector<TokenId> encode(std::string_view text, ControlTokens control) const override;
    std::string piece(TokenId id) const override;
    std::string decode(const std::vector<TokenId>& ids) const override;
    bool isControl(TokenId id) const override;
    std::optional<TokenId> controlToken(std::string_view text) const override;
    std::int64_t vocabularySize() const override;
    std::string description() const override;

private:
    bool isPadding(TokenId id) const;

    std::unique_ptr<const Tokenizer> m_tokenizer;
    std::int64_t m_size;
};

} // namespace kvscope
