#include "widgets/token_selection.h"

#include <algorithm>

namespace kvscope {

std::optional<TokenRange> TokenSelection::range() const
{
    if (!pinned || !rangeEnd || *pinned == *rangeEnd)
        return std::nullopt;
    return TokenRange{std::min(*pinned, *rangeEnd), std::max(*pinned, *rangeEnd)};
}

TokenSelectionModel::TokenSelectionModel(QObject* parent)
    : QObject(parent)
{
}

void TokenSelectionModel::setTokenCount(std::int64_t count)
{
    m_tokenCount = std::max<std::int64_t>(count, 0);
    TokenSelection next = m_selection;
    if (next.hovered && *next.hovered >= m_tokenCount)
        next.hovered.reset();
    if (next.pinned && *next.pinned >= m_tokenCount)
        next.pinned.reset();
    if (!next.pinned)
        next.rangeEnd.reset();
    else if (next.rangeEnd)
        next.rangeEnd = clamped(*next.rangeEnd);
    set(next);
}

void TokenSelectionModel::hover(std::int64_t position)
{
    TokenSelection next = m_selection;
    next.hovered.reset();
    if (position >= 0 && position < m_tokenCount)
        next.hovered = position;
    set(next);
}

void TokenSelectionModel::clearHover()
{
    hover(-1);
}

void TokenSelectionModel::pin(std::int64_t position)
{
    if (position < 0 || position >= m_tokenCount)
        return;
    TokenSelection next = m_selection;
    next.pinned = position;
    next.rangeEnd.reset();
    set(next);
}

void TokenSelectionModel::extendTo(std::int64_t position)
{
    if (!m_selection.pinned)
        return pin(position);
    if (m_tokenCount == 0)
        return;
    TokenSelection next = m_selection;
    next.rangeEnd = clamped(position);
    set(next);
}

void TokenSelectionModel::moveBy(std::int64_t delta)
{
    if (m_tokenCount == 0)
        return;
    pin(m_selection.pinned ? clamped(*m_selection.pinned + delta) : m_tokenCount - 1);
}

void TokenSelectionModel::extendBy(std::int64_t delta)
{
    if (!m_selection.pinned)
        return moveBy(delta);
    extendTo(m_selection.rangeEnd.value_or(*m_selection.pinned) + delta);
}

void TokenSelectionModel::clear()
{
    TokenSelection next = m_selection;
    next.pinned.reset();
    next.rangeEnd.reset();
    set(next);
}

void TokenSelectionModel::setFollowsHead(bool follows)
{
    TokenSelection next = m_selection;
    next.followsHead = follows;
    set(next);
}

void TokenSelectionModel::set(const TokenSelection& selection)
{
    if (selection == m_selection)
        return;
    const TokenSelection before = m_selection;
    m_selection = selection;
    Q_EMIT changed(m_selection, before);
    if (before.hovered != selection.hovered)
        Q_EMIT hoverChanged();
    if (before.pinned != selection.pinned || before.rangeEnd != selection.rangeEnd)
        Q_EMIT pinChanged();
    if (before.followsHead != selection.followsHead)
        Q_EMIT followsHeadChanged(selection.followsHead);
}

std::int64_t TokenSelectionModel::clamped(std::int64_t position) const
{
    return std::clamp<std::int64_t>(position, 0, std::max<std::int64_t>(m_tokenCount - 1, 0));
}

} // namespace kvscope
