#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kvscope {

/// The tokens of a vocabulary, found by what they spell. Immutable.
class TokenIndex
{
public:
    /// \param tokens  by id; an empty one is no token, of two alike the first is found
    explicit TokenIndex(std::vector<std::string> tokens);
    TokenIndex(TokenIndex&&) noexcept = default;
    TokenIndex& operator=(TokenIndex&&) noexcept = default;
    TokenIndex(const TokenIndex&) = delete; // a copy's keys would point into the original
    TokenIndex& operator=(const TokenIndex&) = delete;
    ~TokenIndex() = default;

    std::size_t size() const { return m_tokens.size(); } ///< one more than the greatest id
    const std::string& operator[](std::int32_t id) const
    {
        return m_tokens[static_cast<std::size_t>(id)];
    }
    std::optional<std::int32_t> find(std::string_view token) const;
    /// The ids of "<0x00>" to "<0xFF>", where there are all of them.
    std::optional<std::vector<std::int32_t>> byteTokens() const;

private:
    std::vector<std::string> m_tokens;
    std::unordered_map<std::string_view, std::int32_t> m_ids; ///< keys point into m_tokens
    std::size_t m_longest = 0;
};

/// The byte that "<0x0A>" stands for, or nothing for any other name.
std::optional<std::uint8_t> byteOfName(std::string_view token);

} // namespace kvscope
