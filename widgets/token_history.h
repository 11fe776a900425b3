#pragma once

#include "engine/generate/generation.h"

#include <QObject>

#include <cstdint>
#include <vector>

namespace kvscope {

/// Every token of the context by position: the window's copy of what the events told. Views look
/// pieces, ids and losses up here. GUI thread.
class TokenHistory : public QObject
{
    Q_OBJECT
public:
    explicit TokenHistory(QObject* parent = nullptr);

    std::int64_t size() const { return static_cast<std::int64_t>(m_tokens.size()); }
    /// In order of position, without gaps: tokens()[p].position == p.
    const std::vector<TokenRecord>& tokens() const { return m_tokens; }
    /// The token at a position, or nullptr where there is none. Valid until the next change.
    const TokenRecord* find(std::int64_t position) const;

    /// Adds tokens whose positions go on from size(). Tokens that are already there are dropped
    /// first (a run that starts over); a gap is refused. \return whether they were taken.
    bool append(const std::vector<TokenRecord>& tokens);
    bool append(const TokenRecord& token);
    /// Forgets every token from position `keptTokens` on, as GenerationStarted says.
    void truncate(std::int64_t keptTokens);
    /// Losses in nats of the tokens from `first` on; those past the end are ignored.
    void setNll(std::int64_t first, const std::vector<double>& nll);
    void clear() { truncate(0); }

Q_SIGNALS:
    void tokensAppended(qint64 first, qint64 count);
    void truncated(qint64 keptTokens);
    void nllChanged(qint64 first, qint64 count);

private:
    std::vector<TokenRecord> m_tokens;
};

} // namespace kvscope
