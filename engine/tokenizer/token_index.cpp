#include "engine/tokenizer/token_index.h"

#include "engine/tokenizer/token_checks.h"

#include <algorithm>
#include <charconv>

namespace kvscope {

TokenIndex::TokenIndex(std::vector<std::string> tokens)
    : m_tokens(std::move(tokens))
{
    m_ids.reserve(m_tokens.size());
    for (std::size_t id = 0; id < m_tokens.size(); ++id) {
        if (m_tokens[id].empty())
            continue;
        m_ids.try_emplace(m_tokens[id], static_cast<std::int32_t>(id));
        m_longest = std::max(m_longest, m_tokens[id].size());
    }
}

std::optional<std::int32_t> TokenIndex::find(std::string_view token) const
{
    if (token.size() > m_longest) // spares hashing what cannot be there
        return std::nullopt;
    const auto found = m_ids.find(token);
    return found == m_ids.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::vector<std::int32_t>> TokenIndex::byteTokens() const
{
    std::vector<std::int32_t> ids;
    for (int byte = 0; byte < 256; ++byte) {
        const auto id = find("<" + byteName(static_cast<unsigned char>(byte)) + ">");
        if (!id)
            return std::nullopt;
        ids.push_back(*id);
    }
    return ids;
}

std::optional<std::uint8_t> byteOfName(std::string_view token)
{
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>')
        return std::nullopt;
    std::uint8_t value = 0;
    const char* const digits = token.data() + 3;
    const auto read = std::from_chars(digits, digits + 2, value, 16);
    if (read.ptr != digits + 2)
        return std::nullopt;
    return value;
}

} // namespace kvscope
