#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace kvscope {

/// Which slots of a ring hold which positions: integer arithmetic, apart from any tensor.
///
/// Position p lies in slot p % capacity. A ring holds the positions [first, end) of a sequence that
/// is `end` long; `first` is what was really kept, which after a truncation is less than capacity.
struct RingRange
{
    std::int64_t first = 0;
    std::int64_t end = 0; ///< the next position to be stored

    std::int64_t length() const { return end - first; }
    bool operator==(const RingRange&) const = default;
};

/// Consecutive positions in consecutive slots.
struct SlotSpan
{
    std::int64_t slot = 0;
    std::int64_t length = 0;
    std::int64_t firstPosition = 0;

    bool operator==(const SlotSpan&) const = default;
};

/// At most two spans, in time order: a ring read or written from any slot wraps once.
struct SlotSpans
{
    std::array<SlotSpan, 2> spans;
    std::size_t count = 0;

    const SlotSpan* begin() const { return spans.data(); }
    const SlotSpan* end() const { return spans.data() + count; }
};

/// The slots of positions [range.first, range.end), of which there are at most `capacity`.
inline SlotSpans slotSpans(RingRange range, std::int64_t capacity)
{
    SlotSpans result;
    if (range.length() <= 0)
        return result;
    const std::int64_t slot = range.first % capacity;
    const std::int64_t untilWrap = std::min(range.length(), capacity - slot);
    result.spans[result.count++] = {slot, untilWrap, range.first};
    if (untilWrap < range.length())
        result.spans[result.count++] = {0, range.length() - untilWrap, range.first + untilWrap};
    return result;
}

/// What the ring holds once T more positions are stored over the oldest.
inline RingRange ringAfter(RingRange held, std::int64_t numTokens, std::int64_t capacity)
{
    const std::int64_t end = held.end + numTokens;
    return {std::max(held.first, end - capacity), end};
}

/// The positions of a chunk of T that are worth storing: all, or the tail that fits.
inline RingRange storedOfChunk(RingRange held, std::int64_t numTokens, std::int64_t capacity)
{
    const std::int64_t end = held.end + numTokens;
    return {std::max(held.end, end - capacity), end};
}

/// The newest at most `count` positions held.
inline RingRange newest(RingRange held, std::int64_t count)
{
    return {std::max(held.first, held.end - count), held.end};
}

/// The oldest position that a query at `position` sees: i sees j when 0 <= i - j < window.
inline std::int64_t oldestVisible(std::int64_t position, std::int64_t window)
{
    return std::max<std::int64_t>(0, position - window + 1);
}

/// Whether a ring cut back to n positions still holds all that queries from n on may look at. With
/// capacity window + k this is so for the last k + 1 positions of a sequence longer than the ring.
inline bool canCutBackTo(RingRange held, std::int64_t n, std::int64_t window)
{
    return n == 0 || (n <= held.end && held.first <= oldestVisible(n, window));
}

/// What is held after cutting back to n positions (0 empties the ring).
inline RingRange ringCutBackTo(RingRange held, std::int64_t n)
{
    return {std::min(held.first, n), n};
}

} // namespace kvscope
