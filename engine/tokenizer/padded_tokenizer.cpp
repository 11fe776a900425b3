#include "engine/tokenizer/padded_tokenizer.h"

#include "engine/tokenizer/token_checks.h"

#include <algorithm>
#include <utility>

namespace kvscope {

PaddedTokenizer::PaddedTokenizer(std::unique_ptr<const Tokenizer> tokenizer,
                                 std::int64_t vocabularySize)
    : m_tokenizer(std::move(tokenizer))
    , m_size(vocabularySize)
{
}

bool PaddedTokenizer::isPadding(TokenId id) const
{
    requireTokenId(id, m_size);
    return id >= m_tokenizer->vocabularySize();
}

std::vector<TokenId> PaddedTokenizer::encode(std::string_view text, ControlTokens control) const
{
    return m_tokenizer->encode(text, control);
}

std::string PaddedTokenizer::piece(TokenId id) const
{
    return isPadding(id) ? placeholderPiece(id) : m_tokenizer->piece(id);
}

std::string PaddedTokenizer::decode(const std::vector<TokenId>& ids) const
{
    std::string text;
    for (auto begin = ids.begin(); begin != ids.end();) {
        const auto end = std::find_if(begin, ids.end(), [&](TokenId id) { return isPadding(id); });
        text += m_tokenizer->decode({begin, end});
        begin = end;
        for (; begin != ids.end() && isPadding(*begin); ++begin)
            text += placeholderPiece(*begin);
    }
    return text;
}

bool PaddedTokenizer::isControl(TokenId id) const
{
    return !isPadding(id) && m_tokenizer->isControl(id);
}

std::optional<TokenId> PaddedTokenizer::controlToken(std::string_view text) const
{
    return m_tokenizer->controlToken(text);
}

std::int64_t PaddedTokenizer::vocabularySize() const
{
    return m_size;
}

std::string PaddedTokenizer::description() const
{
    return m_tokenizer->description();
}

} // namespace kvscope
