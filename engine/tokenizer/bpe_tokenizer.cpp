#include "engine/tokenizer/bpe_tokenizer.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/checkpoint/error_text.h"
#include "engine/tokenizer/byte_alphabet.h"
#include "engine/tokenizer/token_checks.h"

#include <algorithm>

namespace kvscope {
namespace {

std::string inAlphabet(std::string_view bytes)
{
    std::string text;
    appendInAlphabet(text, bytes);
    return text;
}

std::int64_t numIds(const BpeParts& parts)
{
    requireAddedIds(parts.addedTokens, parts.rules.tokens.size());
    auto size = static_cast<std::int64_t>(parts.rules.tokens.size());
    for (const AddedToken& token : parts.addedTokens)
        size = std::max(size, token.id + 1);
    return size;
}

std::bitset<256> missingBytes(const BpeModel& model)
{
    std::bitset<256> missing;
    for (unsigned byte = 0; byte < 256; ++byte)
        missing[byte] = !model.find(inAlphabet(std::string(1, static_cast<char>(byte))));
    return missing;
}

} // namespace

BpeTokenizer::BpeTokenizer(BpeParts parts)
    : m_kind(std::move(parts.kind))
    , m_size(numIds(parts))
    , m_normalizer(std::move(parts.normalizer))
    , m_preTokenizer(std::move(parts.preTokenizer))
    , m_added(parts.addedTokens, m_normalizer)
    , m_model(std::move(parts.rules))
    , m_decoder(std::move(parts.decoder))
    , m_spellsBytes(m_preTokenizer.spellsBytes())
{
    for (const AddedToken& token : parts.addedTokens) {
        const auto own = m_model.find(token.content);
        if (own && *own != token.id)
            throw TokenizerError("The added token '" + printable(token.content) + "' has the id " +
                                 std::to_string(token.id) + ", in the vocabulary it has " +
                                 std::to_string(*own) + ".");
    }
    if (m_spellsBytes && !m_model.hasUnknownToken())
        m_missingBytes = missingBytes(m_model);
}

std::vector<TokenId> BpeTokenizer::encode(std::string_view text, ControlTokens control) const
{
    requireEncodable(text);
    std::vector<TokenId> ids;
    MergeList list;
    for (const TextSegment& segment : m_added.inText().split(text, control)) {
        if (segment.token)
            ids.push_back(*segment.token);
        else
            encodePlain(segment, text, control, list, ids);
    }
    return ids;
}

void BpeTokenizer::encodePlain(const TextSegment& segment, std::string_view whole,
                               ControlTokens control, MergeList& list,
                               std::vector<TokenId>& ids) const
{
    const bool isAtFront = segment.text.data() == whole.data();
    if (m_normalizer.isIdentity())
        requireByteTokens(segment.text, whole);
    const std::string normalized = m_normalizer.apply(segment.text);
    for (const TextSegment& part : m_added.inNormalized().split(normalized, control)) {
        if (part.token) {
            ids.push_back(*part.token);
            continue;
        }
        const Stretches stretches = m_preTokenizer.split(
            std::string(part.text), isAtFront && part.text.data() == normalized.data());
        for (const TextRange& range : stretches.ranges)
            m_model.encode(range.of(stretches.text), list, ids);
    }
}

void BpeTokenizer::requireByteTokens(std::string_view plain, std::string_view whole) const
{
    if (m_missingBytes.none())
        return;
    const auto missing = std::ranges::find_if(
        plain, [&](char byte) { return m_missingBytes[static_cast<unsigned char>(byte)]; });
    if (missing == plain.end())
        return;
    throw TokenizerError("The vocabulary has no token for byte " +
                         byteName(static_cast<unsigned char>(*missing)) + ", which is byte " +
                         std::to_string(&*missing - whole.data()) +
                         " of the text; leave that character out.");
}

/// A token as the decoder takes it. Added tokens are what they read, in whatever alphabet the
/// others are.
std::string BpeTokenizer::spelling(TokenId id) const
{
    requireTokenId(id, m_size);
    const AddedToken* added = m_added.at(id);
    const bool isOwn = added == nullptr && m_model.hasToken(id);
    if (isOwn)
        return m_model.token(id);
    const std::string text = added != nullptr ? added->content : placeholderPiece(id);
    return m_spellsBytes ? inAlphabet(text) : text;
}

std::string BpeTokenizer::piece(TokenId id) const
{
    return m_decoder.piece(spelling(id));
}

std::string BpeTokenizer::decode(const std::vector<TokenId>& ids) const
{
    std::vector<std::string> tokens;
    tokens.reserve(ids.size());
    for (const TokenId id : ids)
        tokens.push_back(spelling(id));
    return ids.empty() ? std::string() : m_decoder.decode(std::move(tokens));
}

bool BpeTokenizer::isControl(TokenId id) const
{
    requireTokenId(id, m_size);
    const AddedToken* added = m_added.at(id);
    return added != nullptr && added->isSpecial;
}

std::optional<TokenId> BpeTokenizer::controlToken(std::string_view text) const
{
    return m_added.find(text);
}

std::int64_t BpeTokenizer::vocabularySize() const
{
    return m_size;
}

std::string BpeTokenizer::description() const
{
    return m_kind + ", " + formatCount(m_size) + " tokens";
}

} // namespace kvscope
