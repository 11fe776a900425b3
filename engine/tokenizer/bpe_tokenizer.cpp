#include "engine/tokenizer/bpe_tokenizer.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/tokenizer/token_checks.h"

#include <algorithm>

namespace kvscope {

BpeTokenizer::BpeTokenizer(const BpeVocabulary& vocabulary)
    : m_preTokenizerName(vocabulary.preTokenizer)
    , m_preTokenizer(preTokenizerNamed(vocabulary.preTokenizer))
    , m_merger(vocabulary)
    , m_isControl(vocabulary.tokens.size())
{
    m_pieces.reserve(vocabulary.tokens.size());
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
        const std::string& token = vocabulary.tokens[id];
        const auto tokenId = static_cast<TokenId>(id);
        m_isControl[id] = vocabulary.types[id] == kControlTokenType;
        const bool isUserDefined = vocabulary.types[id] == kUserDefinedTokenType;
        if (m_isControl[id] || isUserDefined)
            m_controlAndUserDefined.add(token, tokenId);
        if (isUserDefined)
            m_userDefined.add(token, tokenId);
        // Control and user-defined tokens are stored as they read, others in the byte alphabet.
        const bool isSpelledOut = m_isControl[id] || isUserDefined;
        m_pieces.push_back(isSpelledOut ? token : bytesFromAlphabet(token).value_or(token));
    }
}

std::vector<TokenId> BpeTokenizer::encode(std::string_view text, ControlTokens control) const
{
    requireEncodable(text);
    std::vector<TokenId> ids;
    BpeMerger::Scratch scratch;
    const ControlMatcher& matcher =
        control == ControlTokens::Parsed ? m_controlAndUserDefined : m_userDefined;
    for (const TextSegment& segment : matcher.split(text)) {
        if (segment.token) {
            ids.push_back(*segment.token);
            continue;
        }
        requireTokens(segment.text, text);
        for (const std::string_view word : splitForBpe(segment.text, m_preTokenizer))
            m_merger.encodeWord(word, scratch, ids);
    }
    return ids;
}

void BpeTokenizer::requireTokens(std::string_view plain, std::string_view whole) const
{
    const auto missing = std::ranges::find_if(
        plain, [&](char byte) { return !m_merger.hasToken(static_cast<std::uint8_t>(byte)); });
    if (missing == plain.end())
        return;
    throw TokenizerError("The vocabulary has no token for byte " +
                         byteName(static_cast<unsigned char>(*missing)) + ", which is byte " +
                         std::to_string(&*missing - whole.data()) +
                         " of the text; leave that character out.");
}

const std::string& BpeTokenizer::pieceOf(TokenId id) const
{
    requireTokenId(id, vocabularySize());
    return m_pieces[static_cast<std::size_t>(id)];
}

std::string BpeTokenizer::piece(TokenId id) const
{
    return pieceOf(id);
}

std::string BpeTokenizer::decode(const std::vector<TokenId>& ids) const
{
    std::string text;
    for (const TokenId id : ids)
        text += pieceOf(id);
    return text;
}

bool BpeTokenizer::isControl(TokenId id) const
{
    requireTokenId(id, vocabularySize());
    return m_isControl[static_cast<std::size_t>(id)];
}

std::optional<TokenId> BpeTokenizer::controlToken(std::string_view text) const
{
    return m_controlAndUserDefined.find(text);
}

std::int64_t BpeTokenizer::vocabularySize() const
{
    return static_cast<std::int64_t>(m_pieces.size());
}

std::string BpeTokenizer::description() const
{
    return "byte-level BPE (" + m_preTokenizerName + "), " + formatCount(vocabularySize()) +
           " tokens";
}

} // namespace kvscope
