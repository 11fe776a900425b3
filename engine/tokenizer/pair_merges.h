#pragma once

#include "engine/tokenizer/merge_symbols.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace kvscope {

/// Two tokens and the one they become.
struct TokenMerge
{
    std::int32_t left = 0;
    std::int32_t right = 0;
    std::int32_t merged = 0;
};

/// The merges of a BPE vocabulary, found by their pair: for each left token its right ones, sorted.
/// No hashing, so no file can make a look-up slow.
class PairMerges
{
public:
    /// \param merges  best rank first, all ids below `numTokens`; of a pair given twice the first
    /// counts
    PairMerges(std::size_t numTokens, const std::vector<TokenMerge>& merges);

    std::optional<MergeOption> find(std::int32_t left, std::int32_t right) const;

private:
    struct Entry
    {
        std::int32_t right;
        MergeOption option;
    };
    std::vector<std::uint32_t> m_begin; ///< by left token, into m_entries; one more at the end
    std::vector<Entry> m_entries;
};

} // namespace kvscope
