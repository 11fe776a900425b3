#include "engine/tokenizer/added_vocabulary.h"

#include "engine/base/errors.h"
#include "engine/base/utf8.h"
#include "engine/checkpoint/error_text.h"
#include "engine/tokenizer/unicode_text.h"

namespace kvscope {
namespace {

/// Where the character before byte `at` begins.
std::size_t previousBegin(std::string_view text, std::size_t at)
{
    std::size_t begin = at - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U)
        --begin;
    return begin;
}

/// Whether neither neighbour of the span is a letter or the like.
bool isWholeWord(std::string_view text, std::size_t begin, std::size_t end)
{
    const bool joinsLeft =
        begin > 0 && isWordCharacter(codePointAt(text, previousBegin(text, begin)).value);
    const bool joinsRight = end < text.size() && isWordCharacter(codePointAt(text, end).value);
    return !joinsLeft && !joinsRight;
}

std::size_t skipSpaceLeft(std::string_view text, std::size_t at, std::size_t limit)
{
    while (at > limit) {
        const std::size_t begin = previousBegin(text, at);
        if (!isWhiteSpace(codePointAt(text, begin).value))
            break;
        at = begin;
    }
    return at;
}

std::size_t skipSpaceRight(std::string_view text, std::size_t at)
{
    while (at < text.size()) {
        const CodePoint character = codePointAt(text, at);
        if (!isWhiteSpace(character.value))
            break;
        at += character.length;
    }
    return at;
}

} // namespace

void AddedTokenFinder::add(std::string_view spelling, const AddedToken& token)
{
    m_matcher.add(spelling, static_cast<std::int64_t>(m_tokens.size()));
    m_tokens.push_back(token);
}

std::vector<TextSegment> AddedTokenFinder::split(std::string_view text, ControlTokens control) const
{
    std::vector<TextSegment> segments;
    std::size_t plain = 0; // where text that is in no segment yet begins
    for (std::size_t at = 0; at < text.size() && !isEmpty();) {
        const auto match = m_matcher.longestAt(text, at);
        if (!match) {
            ++at;
            continue;
        }
        const AddedToken& token = m_tokens[static_cast<std::size_t>(match->token)];
        std::size_t begin = at;
        std::size_t end = at + match->length;
        at = end; // a match that is passed over is consumed too
        if ((token.isSpecial && control == ControlTokens::Literal) || begin < plain ||
            (token.isSingleWord && !isWholeWord(text, begin, end)))
            continue;
        if (token.stripsLeft)
            begin = skipSpaceLeft(text, begin, plain);
        if (token.stripsRight)
            end = skipSpaceRight(text, end);
        if (begin > plain)
            segments.push_back({text.substr(plain, begin - plain), std::nullopt});
        segments.push_back({text.substr(begin, end - begin), token.id});
        plain = end;
    }
    if (text.size() > plain)
        segments.push_back({text.substr(plain), std::nullopt});
    return segments;
}

AddedVocabulary::AddedVocabulary(const std::vector<AddedToken>& tokens,
                                 const Normalizer& normalizer)
{
    for (const AddedToken& token : tokens) {
        if (token.content.empty())
            continue;
        const auto known = m_all.find(token.content);
        const auto [same, isNewId] = m_byId.try_emplace(token.id, token);
        if (known && *known == token.id)
            continue;
        if (known || !isNewId)
            throw TokenizerError(
                "The added token '" + printable(token.content) + "' has the id " +
                std::to_string(token.id) +
                (known ? ", and " + std::to_string(*known) + " as well."
                       : ", which '" + printable(same->second.content) + "' has already."));
        // A spelling that is no text would part characters; GGUF can hold one.
        if (firstInvalidUtf8(token.content))
            continue;
        m_all.add(token.content, token.id);
        if (token.isNormalized)
            m_inNormalized.add(normalizer.apply(token.content), token);
        else
            m_inText.add(token.content, token);
    }
}

const AddedToken* AddedVocabulary::at(TokenId id) const
{
    const auto found = m_byId.find(id);
    return found == m_byId.end() ? nullptr : &found->second;
}

} // namespace kvscope
