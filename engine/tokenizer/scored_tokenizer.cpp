#include "engine/tokenizer/scored_tokenizer.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/tokenizer/space_symbol.h"
#include "engine/tokenizer/token_checks.h"
#include "engine/tokenizer/unicode_text.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace kvscope {
namespace {

/// Equal scores share a rank, so that the leftmost of them merges first.
std::vector<std::uint32_t> ranksOf(const std::vector<float>& scores)
{
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    std::vector<std::uint32_t> ranks(scores.size());
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i > 0 && scores[order[i]] < scores[order[i - 1]])
            ++rank;
        ranks[order[i]] = rank;
    }
    return ranks;
}

/// Control, byte and unknown pieces never come of merging.
std::vector<std::string> mergeablePieces(const ScoredVocabulary& vocabulary)
{
    std::vector<std::string> pieces = vocabulary.tokens;
    for (std::size_t id = 0; id < pieces.size(); ++id) {
        const auto type = GgufTokenType{vocabulary.types[id]};
        if (type == GgufTokenType::Control || type == GgufTokenType::Byte ||
            type == GgufTokenType::Unknown)
            pieces[id].clear();
    }
    return pieces;
}

std::vector<std::int32_t> byteTokensOf(const ScoredVocabulary& vocabulary)
{
    std::vector<std::int32_t> ids(256, -1);
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
        const auto byte = byteOfName(vocabulary.tokens[id]);
        if (byte && GgufTokenType{vocabulary.types[id]} == GgufTokenType::Byte)
            ids[*byte] = static_cast<std::int32_t>(id);
    }
    return std::ranges::find(ids, -1) == ids.end() ? ids : std::vector<std::int32_t>();
}

} // namespace

/// Left halves of what was merged into unused pieces.
struct ScoredTokenizer::Unmerged
{
    std::unordered_map<std::string_view, std::size_t> leftLength;
};

ScoredTokenizer::ScoredTokenizer(const ScoredVocabulary& vocabulary)
    : m_ranks(ranksOf(vocabulary.scores))
    , m_index(mergeablePieces(vocabulary))
    , m_byteTokens(byteTokensOf(vocabulary))
    , m_unknownToken(vocabulary.unknownToken)
    , m_addsSpacePrefix(vocabulary.addsSpacePrefix)
{
    if (m_byteTokens.empty() && !m_unknownToken)
        throw TokenizerError("The vocabulary has neither a token for every byte nor one for "
                             "unknown text, so not every text can be encoded.");
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
        const std::string& token = vocabulary.tokens[i];
        const auto id = static_cast<TokenId>(i);
        const GgufTokenType type{vocabulary.types[i]};
        m_types.push_back(type);
        if (type == GgufTokenType::Control)
            m_control.add(token, id);
        // Writers put user-defined spaces either way.
        if (type == GgufTokenType::UserDefined)
            m_userDefined.add(withSpaceSymbols(token), id);
        if (type == GgufTokenType::Control || type == GgufTokenType::UserDefined)
            m_controlAndUserDefined.add(token, id);
        const auto byte = byteOfName(token);
        if (type == GgufTokenType::Byte && byte)
            m_pieces.emplace_back(1, static_cast<char>(*byte));
        else
            m_pieces.push_back(type == GgufTokenType::Control ? token : withSpaces(token));
    }
}

std::vector<TokenId> ScoredTokenizer::encode(std::string_view text, ControlTokens control) const
{
    requireEncodable(text);
    std::vector<TokenId> ids;
    MergeList list;
    if (control == ControlTokens::Literal) {
        encodeSentence(text, list, ids);
        return ids;
    }
    for (const TextSegment& segment : m_control.split(text)) {
        if (segment.token)
            ids.push_back(*segment.token);
        else
            encodeSentence(segment.text, list, ids);
    }
    return ids;
}

void ScoredTokenizer::encodeSentence(std::string_view sentence, MergeList& list,
                                     std::vector<TokenId>& ids) const
{
    if (sentence.empty())
        return;
    const std::string spelled =
        (m_addsSpacePrefix ? std::string(kSpaceSymbol) : "") + withSpaceSymbols(sentence);
    for (const TextSegment& segment : m_userDefined.split(spelled)) {
        if (segment.token)
            ids.push_back(*segment.token);
        else
            encodeStretch(segment.text, list, ids);
    }
}

void ScoredTokenizer::encodeStretch(std::string_view stretch, MergeList& list,
                                    std::vector<TokenId>& ids) const
{
    requireEncodable(stretch);
    list.clear();
    for (std::size_t at = 0; at < stretch.size();) {
        const std::size_t length = codePointAt(stretch, at).length;
        const auto token = m_index.find(stretch.substr(at, length));
        list.add(token.value_or(MergeSymbol::kNoToken), at, at + length);
        at += length;
    }
    Unmerged unmerged;
    list.merge(
        [&](const MergeSymbol& left, const MergeSymbol& right) -> std::optional<MergeOption> {
            const std::string_view pair = stretch.substr(left.begin, right.end - left.begin);
            const auto token = m_index.find(pair);
            if (!token)
                return std::nullopt;
            if (m_types[static_cast<std::size_t>(*token)] == GgufTokenType::Unused)
                unmerged.leftLength[pair] = left.end - left.begin;
            return MergeOption{m_ranks[static_cast<std::size_t>(*token)], *token};
        });
    bool isAfterUnknown = false;
    list.forEach([&](const MergeSymbol& symbol) {
        addFinal(stretch.substr(symbol.begin, symbol.end - symbol.begin), symbol.token, unmerged,
                 ids, isAfterUnknown);
    });
}

/// Unused pieces help merging along, but are taken apart again in the end.
void ScoredTokenizer::addFinal(std::string_view piece, std::int32_t token, const Unmerged& unmerged,
                               std::vector<TokenId>& ids, bool& isAfterUnknown) const
{
    std::vector<std::string_view> pending{piece}; // the next one last
    while (!pending.empty()) {
        const std::string_view next = pending.back();
        pending.pop_back();
        if (next.size() != piece.size())
            token = m_index.find(next).value_or(MergeSymbol::kNoToken);
        const bool isUnused = token != MergeSymbol::kNoToken &&
                              m_types[static_cast<std::size_t>(token)] == GgufTokenType::Unused;
        const auto parts = unmerged.leftLength.find(next);
        if (isUnused && parts != unmerged.leftLength.end()) {
            pending.push_back(next.substr(parts->second));
            pending.push_back(next.substr(0, parts->second));
        } else if (token == MergeSymbol::kNoToken || isUnused) {
            addWithoutToken(next, ids, isAfterUnknown);
        } else {
            ids.push_back(token);
            isAfterUnknown = false;
        }
    }
}

void ScoredTokenizer::addWithoutToken(std::string_view piece, std::vector<TokenId>& ids,
                                      bool& isAfterUnknown) const
{
    if (m_byteTokens.empty()) {
        if (!isAfterUnknown) // a run of unknown characters is one token
            ids.push_back(*m_unknownToken);
        isAfterUnknown = true;
        return;
    }
    for (const char byte : piece)
        ids.push_back(m_byteTokens[static_cast<unsigned char>(byte)]);
}

GgufTokenType ScoredTokenizer::typeOf(TokenId id) const
{
    requireTokenId(id, vocabularySize());
    return m_types[static_cast<std::size_t>(id)];
}

std::string ScoredTokenizer::piece(TokenId id) const
{
    requireTokenId(id, vocabularySize());
    return m_pieces[static_cast<std::size_t>(id)];
}

std::string ScoredTokenizer::decode(const std::vector<TokenId>& ids) const
{
    std::string text;
    bool isAtFront = true; // of a sentence
    for (const TokenId id : ids) {
        const bool isControlToken = typeOf(id) == GgufTokenType::Control;
        std::string_view part = m_pieces[static_cast<std::size_t>(id)];
        if (isAtFront && m_addsSpacePrefix && !isControlToken && part.starts_with(' '))
            part.remove_prefix(1);
        text += part;
        isAtFront = isControlToken;
    }
    return text;
}

bool ScoredTokenizer::isControl(TokenId id) const
{
    return typeOf(id) == GgufTokenType::Control;
}

std::optional<TokenId> ScoredTokenizer::controlToken(std::string_view text) const
{
    return m_controlAndUserDefined.find(text);
}

std::int64_t ScoredTokenizer::vocabularySize() const
{
    return static_cast<std::int64_t>(m_pieces.size());
}

std::string ScoredTokenizer::description() const
{
    return "sentencepiece-style BPE (GGUF), " + formatCount(vocabularySize()) + " tokens";
}

} // namespace kvscope
