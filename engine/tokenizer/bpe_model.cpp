#include "engine/tokenizer/bpe_model.h"

#include "engine/base/errors.h"
#include "engine/base/utf8.h"
#include "engine/checkpoint/error_text.h"
#include "engine/tokenizer/token_checks.h"
#include "engine/tokenizer/unicode_text.h"

#include <algorithm>
#include <limits>

namespace kvscope {
namespace {

constexpr std::int32_t kNoToken = MergeSymbol::kNoToken;

/// Unknown characters that wait to become one token, or one each.
struct PendingUnknown
{
    std::size_t begin = 0;
    std::size_t end = 0;

    void flush(std::int32_t token, MergeList& list)
    {
        if (end > begin)
            list.add(token, begin, end);
        begin = end = 0;
    }
};

} // namespace

BpeModel::BpeModel(BpeRules rules)
    : m_index(std::exchange(rules.tokens, {}))
{
    m_direct.fill(kNoToken);
    m_byteTokens.fill(kNoToken);
    addCharacters();
    if (!rules.mergesByTokenId)
        addMerges(rules.merges);
    if (rules.fallsBackToBytes) {
        for (int byte = 0; byte < 256; ++byte) {
            const auto value = static_cast<unsigned char>(byte);
            m_byteTokens[value] = m_index.find("<" + byteName(value) + ">").value_or(kNoToken);
        }
    }
    rules.merges = {};
    m_rules = std::move(rules);
}

void BpeModel::addCharacters()
{
    for (std::size_t i = 0; i < m_index.size(); ++i) {
        const auto id = static_cast<std::int32_t>(i);
        const std::string& token = m_index[id];
        if (token.empty() || token.size() > 4 || firstInvalidUtf8(token))
            continue;
        const CodePoint character = codePointAt(token, 0);
        if (character.length != token.size() || m_index.find(token) != id)
            continue;
        if (static_cast<std::size_t>(character.value) < kNumDirect)
            m_direct[static_cast<std::size_t>(character.value)] = id;
        else
            m_characters.emplace(character.value, id);
    }
}

void BpeModel::addMerges(const std::vector<BpeRules::Merge>& merges)
{
    std::vector<TokenMerge> found;
    found.reserve(merges.size());
    for (const BpeRules::Merge& merge : merges) {
        const std::string_view pair = merge.pair;
        const auto left = m_index.find(pair.substr(0, merge.leftLength));
        const auto right = m_index.find(pair.substr(merge.leftLength));
        const auto merged = m_index.find(pair);
        if (!left || !right || !merged) {
            const std::string spelled = std::string(pair.substr(0, merge.leftLength)) + " " +
                                        std::string(pair.substr(merge.leftLength));
            throw TokenizerError(
                "Merge " + std::to_string(found.size()) + " of the vocabulary ('" +
                printable(spelled) +
                "') is not two of its tokens making a third; the file is probably damaged.");
        }
        found.push_back({*left, *right, *merged});
    }
    m_merges.emplace(m_index.size(), found);
}

std::int32_t BpeModel::tokenOf(std::int32_t codePoint) const
{
    if (static_cast<std::size_t>(codePoint) < kNumDirect)
        return m_direct[static_cast<std::size_t>(codePoint)];
    const auto found = m_characters.find(codePoint);
    return found == m_characters.end() ? kNoToken : found->second;
}

bool BpeModel::addBytes(std::string_view stretch, std::size_t at, std::size_t length,
                        MergeList& list) const
{
    const auto tokenAt = [&](std::size_t i) {
        return m_byteTokens[static_cast<std::uint8_t>(stretch[i])];
    };
    for (std::size_t i = at; i < at + length; ++i)
        if (tokenAt(i) == kNoToken)
            return false;
    for (std::size_t i = at; i < at + length; ++i)
        list.add(tokenAt(i), i, i + 1);
    return true;
}

void BpeModel::addSymbols(std::string_view stretch, MergeList& list) const
{
    PendingUnknown unknown;
    const std::int32_t unknownToken = m_rules.unknownToken.value_or(kNoToken);
    for (std::size_t at = 0; at < stretch.size();) {
        const CodePoint character = codePointAt(stretch, at);
        const std::size_t begin = at;
        at += character.length;
        if (const std::int32_t token = tokenOf(character.value); token != kNoToken) {
            unknown.flush(unknownToken, list);
            list.add(token, begin, at);
            continue;
        }
        if (addBytes(stretch, begin, character.length, list))
            continue;
        if (unknownToken == kNoToken)
            throw TokenizerError("The vocabulary has no token for the character '" +
                                 printable(stretch.substr(begin, character.length)) +
                                 "' and none for unknown ones; leave it out.");
        if (!m_rules.fusesUnknown)
            unknown.flush(unknownToken, list);
        if (unknown.end == 0)
            unknown.begin = begin;
        unknown.end = at;
    }
    unknown.flush(unknownToken, list);
}

void BpeModel::encode(std::string_view stretch, MergeList& list,
                      std::vector<std::int64_t>& ids) const
{
    if (m_rules.ignoresMerges) {
        if (const auto whole = m_index.find(stretch)) {
            ids.push_back(*whole);
            return;
        }
    }
    if (stretch.size() > std::numeric_limits<std::int32_t>::max())
        throw TokenizerError("The text has a stretch of 2 GiB or more without a break.");
    list.clear();
    addSymbols(stretch, list);
    if (m_merges) {
        list.merge([&](const MergeSymbol& left, const MergeSymbol& right) {
            return m_merges->find(left.token, right.token);
        });
    } else {
        list.merge(
            [&](const MergeSymbol& left, const MergeSymbol& right) -> std::optional<MergeOption> {
                const auto token = m_index.find(stretch.substr(left.begin, right.end - left.begin));
                if (!token)
                    return std::nullopt;
                return MergeOption{static_cast<std::uint32_t>(*token), *token};
            });
    }
    list.forEach([&](const MergeSymbol& symbol) { ids.push_back(symbol.token); });
}

} // namespace kvscope
