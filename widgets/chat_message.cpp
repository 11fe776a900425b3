#include "widgets/chat_message.h"

#include <algorithm>

namespace kvscope {

const ChatTokenSpan* ChatRow::spanAt(qsizetype offset) const
{
    if (offset < 0)
        return nullptr;
    const auto found =
        std::upper_bound(spans.begin(), spans.end(), offset,
                         [](qsizetype at, const ChatTokenSpan& span) { return at < span.end; });
    return found == spans.end() ? nullptr : &*found;
}

std::pair<qsizetype, qsizetype> ChatRow::charactersOf(std::int64_t position) const
{
    const auto found = std::lower_bound(
        spans.begin(), spans.end(), position,
        [](const ChatTokenSpan& span, std::int64_t at) { return span.position < at; });
    if (found == spans.end() || found->position != position)
        return {0, 0};
    return {found == spans.begin() ? 0 : std::prev(found)->end, found->end};
}

} // namespace kvscope
