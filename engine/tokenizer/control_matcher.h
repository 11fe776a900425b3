#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kvscope {

/// A stretch of text: either a token spelled out in it, or plain text between such tokens.
struct TextSegment
{
    std::string_view text;
    std::optional<std::int64_t> token; ///< nothing for plain text
};

/// Finds the spellings of control and user-defined tokens in text: leftmost first, and of those
/// that begin at one place the longest. A trie, so a text of n bytes takes at most n times the
/// longest spelling, which is bounded. Immutable once filled.
class ControlMatcher
{
public:
    struct Match
    {
        std::size_t length = 0;
        std::int64_t token = 0;
    };

    ControlMatcher();

    /// An empty spelling is left out; of two tokens spelled alike the first is kept.
    /// \throws TokenizerError for one of more than kMaxSpellingBytes
    void add(std::string_view spelling, std::int64_t token);
    /// The token spelled exactly `text`.
    std::optional<std::int64_t> find(std::string_view text) const;
    /// The longest spelling that begins at byte `at`.
    std::optional<Match> longestAt(std::string_view text, std::size_t at) const;
    bool isEmpty() const { return m_children.empty(); }
    /// `text` in order, without empty segments. The segments point into it.
    std::vector<TextSegment> split(std::string_view text) const;

private:
    static std::uint64_t edge(std::uint32_t node, char byte);

    std::array<bool, 256> m_isFirst{};                 ///< bytes that a spelling begins with
    std::vector<std::optional<std::int64_t>> m_tokens; ///< by node; the root is 0
    std::unordered_map<std::uint64_t, std::uint32_t> m_children; ///< (node, byte) to node
};

} // namespace kvscope
