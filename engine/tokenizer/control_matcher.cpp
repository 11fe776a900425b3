#include "engine/tokenizer/control_matcher.h"

#include "engine/tokenizer/token_checks.h"

namespace kvscope {

ControlMatcher::ControlMatcher()
    : m_tokens(1)
{
}

std::uint64_t ControlMatcher::edge(std::uint32_t node, char byte)
{
    return std::uint64_t{node} << 8U | static_cast<std::uint8_t>(byte);
}

void ControlMatcher::add(std::string_view spelling, std::int64_t token)
{
    if (spelling.empty())
        return;
    requireSpelling(spelling);
    m_isFirst[static_cast<std::uint8_t>(spelling.front())] = true;
    std::uint32_t node = 0;
    for (const char byte : spelling) {
        const auto [child, isNew] =
            m_children.try_emplace(edge(node, byte), static_cast<std::uint32_t>(m_tokens.size()));
        if (isNew)
            m_tokens.emplace_back();
        node = child->second;
    }
    if (!m_tokens[node])
        m_tokens[node] = token;
}

std::optional<std::int64_t> ControlMatcher::find(std::string_view text) const
{
    const auto match = longestAt(text, 0);
    if (!match || match->length != text.size())
        return std::nullopt;
    return match->token;
}

std::optional<ControlMatcher::Match> ControlMatcher::longestAt(std::string_view text,
                                                               std::size_t at) const
{
    if (at == text.size() || !m_isFirst[static_cast<std::uint8_t>(text[at])])
        return std::nullopt;
    std::optional<Match> longest;
    std::uint32_t node = 0;
    for (std::size_t i = at; i < text.size(); ++i) {
        const auto child = m_children.find(edge(node, text[i]));
        if (child == m_children.end())
            break;
        node = child->second;
        if (m_tokens[node])
            longest = Match{i + 1 - at, *m_tokens[node]};
    }
    return longest;
}

std::vector<TextSegment> ControlMatcher::split(std::string_view text) const
{
    std::vector<TextSegment> segments;
    std::size_t begin = 0;
    const auto addPlain = [&](std::size_t end) {
        if (end > begin)
            segments.push_back({text.substr(begin, end - begin), std::nullopt});
    };
    for (std::size_t at = 0; at < text.size();) {
        const auto match = longestAt(text, at);
        if (!match) {
            ++at;
            continue;
        }
        addPlain(at);
        segments.push_back({text.substr(at, match->length), match->token});
        at += match->length;
        begin = at;
    }
    addPlain(text.size());
    return segments;
}

} // namespace kvscope
