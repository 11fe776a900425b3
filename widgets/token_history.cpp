#include "widgets/token_history.h"

#include <algorithm>

namespace kvscope {

TokenHistory::TokenHistory(QObject* parent)
    : QObject(parent)
{
}

const TokenRecord* TokenHistory::find(std::int64_t position) const
{
    if (position < 0 || position >= size())
        return nullptr;
    return &m_tokens[static_cast<std::size_t>(position)];
}

bool TokenHistory::append(const std::vector<TokenRecord>& tokens)
{
    if (tokens.empty())
        return true;
    const std::int64_t first = tokens.front().position;
    if (first < 0 || first > size())
        return false;
    for (std::size_t i = 0; i < tokens.size(); ++i)
        if (tokens[i].position != first + static_cast<std::int64_t>(i))
            return false;
    truncate(first);
    m_tokens.insert(m_tokens.end(), tokens.begin(), tokens.end());
    Q_EMIT tokensAppended(first, static_cast<qint64>(tokens.size()));
    return true;
}

bool TokenHistory::append(const TokenRecord& token)
{
    return append(std::vector<TokenRecord>{token});
}

void TokenHistory::truncate(std::int64_t keptTokens)
{
    const std::int64_t kept = std::max<std::int64_t>(keptTokens, 0);
    if (kept >= size())
        return;
    m_tokens.resize(static_cast<std::size_t>(kept));
    Q_EMIT truncated(kept);
}

void TokenHistory::setNll(std::int64_t first, const std::vector<double>& nll)
{
    const std::int64_t begin = std::max<std::int64_t>(first, 0);
    const std::int64_t end =
        std::min<std::int64_t>(size(), first + static_cast<std::int64_t>(nll.size()));
    for (std::int64_t position = begin; position < end; ++position)
        m_tokens[static_cast<std::size_t>(position)].nll =
            nll[static_cast<std::size_t>(position - first)];
    if (end > begin)
        Q_EMIT nllChanged(begin, end - begin);
}

} // namespace kvscope
