#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace kvscope {

/// A symbol of a stretch while it is merged: a token and the bytes it spans.
struct MergeSymbol
{
    static constexpr std::int32_t kNoToken = -1;

    std::int32_t token = kNoToken; ///< kNoToken for a character that no token spells
    std::int32_t previous = -1;    ///< -1 at the front
    std::int32_t next = -1;        ///< -1 at the end
    std::uint32_t begin = 0;
    std::uint32_t end = 0; ///< equal to `begin` once merged into its left neighbour
};

/// What two neighbours would become.
struct MergeOption
{
    std::uint32_t rank = 0; ///< the least is merged first
    std::int32_t token = MergeSymbol::kNoToken;
};

/// The symbols of one stretch, and the heap that merging them takes. Kept between stretches to
/// spare allocations.
class MergeList
{
public:
    void clear()
    {
        m_symbols.clear();
        m_heap.clear();
    }
    void add(std::int32_t token, std::size_t begin, std::size_t end)
    {
        const auto index = static_cast<std::int32_t>(m_symbols.size());
        if (index > 0)
            m_symbols.back().next = index;
        m_symbols.push_back({token, index - 1, -1, static_cast<std::uint32_t>(begin),
                             static_cast<std::uint32_t>(end)});
    }

    /// Merges the pair of lowest rank, of equal ones the leftmost, until no pair merges.
    /// O(n log n) calls of `find(left, right)`, which answers an optional MergeOption.
    template <class Find>
    void merge(const Find& find)
    {
        for (std::int32_t i = 0; i + 1 < static_cast<std::int32_t>(m_symbols.size()); ++i) {
            if (const auto found = candidate(i, find))
                m_heap.push_back(*found);
        }
        std::ranges::make_heap(m_heap, std::greater{}, &Candidate::order);
        while (!m_heap.empty()) {
            std::ranges::pop_heap(m_heap, std::greater{}, &Candidate::order);
            const Candidate best = m_heap.back();
            m_heap.pop_back();
            if (isStale(best))
                continue;
            const std::int32_t left = best.left();
            join(best);
            offer(at(left).previous, find);
            offer(left, find);
        }
    }

    /// Calls `visit(symbol)` for those that are left, in order.
    template <class Visit>
    void forEach(const Visit& visit) const
    {
        for (std::int32_t i = m_symbols.empty() ? -1 : 0; i >= 0;
             i = m_symbols[static_cast<std::size_t>(i)].next)
            visit(m_symbols[static_cast<std::size_t>(i)]);
    }

private:
    struct Candidate
    {
        std::uint64_t order; ///< rank << 32 | index of the left symbol
        std::int32_t token;
        std::uint32_t middle; ///< where the left one ended when this was offered
        std::uint32_t end;    ///< where the right one ended

        std::int32_t left() const { return static_cast<std::int32_t>(order & 0xFFFF'FFFFU); }
    };

    MergeSymbol& at(std::int32_t i) { return m_symbols[static_cast<std::size_t>(i)]; }

    template <class Find>
    std::optional<Candidate> candidate(std::int32_t leftIndex, const Find& find)
    {
        const MergeSymbol& left = at(leftIndex);
        const MergeSymbol& right = at(left.next);
        const std::optional<MergeOption> option = find(left, right);
        if (!option)
            return std::nullopt;
        return Candidate{std::uint64_t{option->rank} << 32U | static_cast<std::uint32_t>(leftIndex),
                         option->token, left.end, right.end};
    }

    template <class Find>
    void offer(std::int32_t left, const Find& find)
    {
        if (left < 0 || at(left).next < 0)
            return;
        if (const auto found = candidate(left, find)) {
            m_heap.push_back(*found);
            std::ranges::push_heap(m_heap, std::greater{}, &Candidate::order);
        }
    }

    /// Candidates stay when one of their symbols merges elsewhere; its span is another then.
    bool isStale(const Candidate& candidate)
    {
        const MergeSymbol& left = at(candidate.left());
        return left.begin == left.end || left.end != candidate.middle || left.next < 0 ||
               at(left.next).end != candidate.end;
    }

    void join(const Candidate& candidate)
    {
        MergeSymbol& left = at(candidate.left());
        MergeSymbol& right = at(left.next);
        left.token = candidate.token;
        left.end = right.end;
        left.next = right.next;
        right.end = right.begin;
        if (left.next >= 0)
            at(left.next).previous = candidate.left();
    }

    std::vector<MergeSymbol> m_symbols;
    std::vector<Candidate> m_heap;
};

} // namespace kvscope
