#pragma once

#include "engine/tokenizer/merge_symbols.h"
#include "engine/tokenizer/pair_merges.h"
#include "engine/tokenizer/token_index.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kvscope {

/// A BPE vocabulary and its rules, before a model is built from it.
struct BpeRules
{
    std::vector<std::string> tokens; ///< by id; empty where there is none that text may become
    /// Pairs that merge, best rank first: "left" and "right" in one text, and the length of "left".
    struct Merge
    {
        std::string pair;
        std::size_t leftLength = 0;
    };
    std::vector<Merge> merges;
    /// tiktoken's way instead: any two neighbours that together spell a token merge, the least id
    /// first.
    bool mergesByTokenId = false;
    bool ignoresMerges = false; ///< a stretch that is a token becomes it, whatever the merges say
    bool fallsBackToBytes = false; ///< a character without a token becomes its bytes' "<0xNN>"
    bool fusesUnknown = false;     ///< neighbouring unknown characters are one unknown token
    std::optional<std::int32_t> unknownToken;
};

/// Merges one stretch of text into tokens: characters first, then the pair of lowest rank, of equal
/// ones the leftmost. Immutable, so any thread may use it.
/// Source: Hugging Face tokenizers, src/models/bpe.
class BpeModel
{
public:
    /// \throws TokenizerError for a merge that is not two tokens making a third, naming it
    explicit BpeModel(BpeRules rules);

    std::optional<std::int32_t> find(std::string_view token) const { return m_index.find(token); }
    /// Whether text may become `id`; what it spells then.
    bool hasToken(std::int64_t id) const
    {
        return id < static_cast<std::int64_t>(m_index.size()) &&
               !m_index[static_cast<std::int32_t>(id)].empty();
    }
    const std::string& token(std::int64_t id) const
    {
        return m_index[static_cast<std::int32_t>(id)];
    }
    bool hasUnknownToken() const { return m_rules.unknownToken.has_value(); }
    /// Appends the tokens of `stretch`, O(n log n) in its length. \throws TokenizerError for a
    /// character without a token, where the model has none for unknown ones, or 2 GiB and more
    void encode(std::string_view stretch, MergeList& list, std::vector<std::int64_t>& ids) const;

private:
    void addMerges(const std::vector<BpeRules::Merge>& merges);
    void addCharacters();
    std::int32_t tokenOf(std::int32_t codePoint) const;
    void addSymbols(std::string_view stretch, MergeList& list) const;
    bool addBytes(std::string_view stretch, std::size_t at, std::size_t length,
                  MergeList& list) const;

    static constexpr std::size_t kNumDirect = 0x250; ///< Latin, and GPT-2's alphabet of bytes

    BpeRules m_rules; ///< without tokens and merges, which are below
    TokenIndex m_index;
    std::optional<PairMerges> m_merges;
    std::array<std::int32_t, kNumDirect> m_direct{};             ///< token by character
    std::unordered_map<std::int32_t, std::int32_t> m_characters; ///< the others
    std::array<std::int32_t, 256> m_byteTokens{};                ///< "<0xNN>" by byte
};

} // namespace kvscope
