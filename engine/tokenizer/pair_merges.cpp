#include "engine/tokenizer/pair_merges.h"

#include <algorithm>

namespace kvscope {

PairMerges::PairMerges(std::size_t numTokens, const std::vector<TokenMerge>& merges)
    : m_begin(numTokens + 1)
    , m_entries(merges.size())
{
    for (const TokenMerge& merge : merges)
        ++m_begin[static_cast<std::size_t>(merge.left) + 1];
    for (std::size_t token = 0; token < numTokens; ++token)
        m_begin[token + 1] += m_begin[token];
    std::vector<std::uint32_t> next(m_begin.begin(), m_begin.end() - 1);
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
        const TokenMerge& merge = merges[rank];
        m_entries[next[static_cast<std::size_t>(merge.left)]++] = {
            merge.right, {static_cast<std::uint32_t>(rank), merge.merged}};
    }
    for (std::size_t token = 0; token < numTokens; ++token) {
        const auto begin = m_entries.begin();
        std::stable_sort(begin + m_begin[token], begin + m_begin[token + 1],
                         [](const Entry& a, const Entry& b) { return a.right < b.right; });
    }
}

std::optional<MergeOption> PairMerges::find(std::int32_t left, std::int32_t right) const
{
    const auto begin = m_entries.begin() + m_begin[static_cast<std::size_t>(left)];
    const auto end = m_entries.begin() + m_begin[static_cast<std::size_t>(left) + 1];
    const auto found = std::lower_bound(
        begin, end, right, [](const Entry& entry, std::int32_t id) { return entry.right < id; });
    if (found == end || found->right != right)
        return std::nullopt;
    return found->option;
}

} // namespace kvscope
