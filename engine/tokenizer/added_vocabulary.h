#pragma once

#include "engine/checkpoint/added_token.h"
#include "engine/tokenizer/control_matcher.h"
#include "engine/tokenizer/normalizer.h"
#include "engine/tokenizer/tokenizer.h"

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kvscope {

/// Finds added tokens in text, leftmost and longest first, with the white space that they take.
/// Source: Hugging Face tokenizers, src/tokenizer/added_vocabulary.rs, find_matches.
class AddedTokenFinder
{
public:
    void add(std::string_view spelling, const AddedToken& token);
    bool isEmpty() const { return m_matcher.isEmpty(); }
    /// `text` in order, without empty segments, which point into it. Special tokens stay text where
    /// control tokens are taken literally; others are found all the same.
    std::vector<TextSegment> split(std::string_view text, ControlTokens control) const;

private:
    ControlMatcher m_matcher; ///< its tokens are indices into m_tokens
    std::vector<AddedToken> m_tokens;
};

/// The tokens that are found in text before the model sees it: some in the text as it is, the
/// others in what the normalizer makes of it.
class AddedVocabulary
{
public:
    AddedVocabulary() = default;
    /// \throws TokenizerError where two tokens have one id, or one token two
    AddedVocabulary(const std::vector<AddedToken>& tokens, const Normalizer& normalizer);

    const AddedTokenFinder& inText() const { return m_inText; }
    const AddedTokenFinder& inNormalized() const { return m_inNormalized; }
    /// The token spelled exactly `content`.
    std::optional<TokenId> find(std::string_view content) const { return m_all.find(content); }
    /// Null where `id` is no added token.
    const AddedToken* at(TokenId id) const;

private:
    AddedTokenFinder m_inText;
    AddedTokenFinder m_inNormalized;
    ControlMatcher m_all;
    std::unordered_map<TokenId, AddedToken> m_byId;
};

} // namespace kvscope
