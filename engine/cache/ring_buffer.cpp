#include "engine/cache/ring_buffer.h"

#include "engine/base/errors.h"
#include "engine/cache/chunk_check.h"
#include "engine/cache/growth_plan.h"
#include "engine/cache/slot_memory.h"
#include "engine/cache/slots.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <string>

namespace kvscope {
namespace {

// A ring of at most so many slots is allocated at once. A longer one grows to its size: some files
// state windows longer than any context they are made for.
constexpr std::int64_t kFirstCapacity = 4096;

/// The last `length` positions, in memory of their own so that the rest of the chunk can be freed.
at::Tensor ownTail(const at::Tensor& chunk, std::int64_t length)
{
    return chunk.narrow(2, chunk.size(2) - length, length).clone(at::MemoryFormat::Contiguous);
}

} // namespace

RingBuffer::RingBuffer(const BufferShape& shape, std::int64_t window, std::int64_t slack,
                       const at::TensorOptions& options)
    : m_shape(shape)
    , m_window(window)
    , m_fullCapacity(window + slack)
    , m_capacity(std::min(m_fullCapacity, kFirstCapacity))
{
    if (window <= 0 || slack < 0)
        throw ArgumentError(
            "A ring needs a window of at least 1 position and no negative slack, got " +
            std::to_string(window) + " and " + std::to_string(slack) + ".");
    const c10::InferenceMode guard;
    m_keys = allocateSlots(shape, m_capacity, options);
    m_values = allocateSlots(shape, m_capacity, options);
}

void RingBuffer::growTo(std::int64_t capacity)
{
    if (capacity <= m_capacity)
        return;
    // Nothing has wrapped yet, so that slots are positions before and after.
    at::Tensor keys = allocateSlots(m_shape, capacity, m_keys.options());
    at::Tensor values = allocateSlots(m_shape, capacity, m_keys.options());
    if (m_held.end > 0) {
        writeSlots(keys, 0, m_keys, 0, m_held.end);
        writeSlots(values, 0, m_values, 0, m_held.end);
    }
    m_keys = std::move(keys);
    m_values = std::move(values);
    m_capacity = capacity;
    m_touched = m_held.end;
}

KVView RingBuffer::stage(const at::Tensor& keys, const at::Tensor& values)
{
    checkChunk(m_shape, m_keys.device(), keys, values);
    const c10::InferenceMode guard;
    makeRoom(keys.size(2));
    KVView view;
    const std::int64_t end = m_held.end;
    addSlots(view, newest(m_held, end - oldestVisible(end, m_window)));
    // Rounded to the buffer's dtype first: a chunk must see itself as later chunks will see it.
    view.add({rounded(keys, m_roundedKey), rounded(values, m_roundedValue), end});

    const KVSegment& chunk = view.segments[view.numSegments - 1];
    m_stagedLength = chunk.length();
    const bool onlyTailFits = m_stagedLength > m_capacity;
    m_stagedKeys = onlyTailFits ? ownTail(chunk.keys, m_capacity) : chunk.keys;
    m_stagedValues = onlyTailFits ? ownTail(chunk.values, m_capacity) : chunk.values;
    return view;
}

void RingBuffer::makeRoom(std::int64_t numTokens)
{
    const c10::InferenceMode guard;
    const std::int64_t needed = std::min(m_held.end + numTokens, m_fullCapacity);
    growTo(grownCapacity(m_capacity, needed, m_fullCapacity));
}

at::Tensor RingBuffer::rounded(const at::Tensor& chunk, at::Tensor& onePosition) const
{
    if (chunk.scalar_type() == m_keys.scalar_type())
        return chunk;
    const std::int64_t length = chunk.size(2);
    if (length == 1 && onePosition.defined()) {
        writeSlots(onePosition, 0, chunk, 0, 1);
        return onePosition;
    }
    const at::Tensor stored = allocateSlots(m_shape, length, m_keys.options());
    writeSlots(stored, 0, chunk, 0, length);
    if (length == 1)
        onePosition = stored;
    return stored;
}

void RingBuffer::commit()
{
    if (m_stagedLength == 0)
        return;
    const c10::InferenceMode guard;
    const RingRange stored = storedOfChunk(m_held, m_stagedLength, m_capacity);
    for (const SlotSpan& span : slotSpans(stored, m_capacity)) {
        const std::int64_t from = span.firstPosition - stored.first;
        writeSlots(m_keys, span.slot, m_stagedKeys, from, span.length);
        writeSlots(m_values, span.slot, m_stagedValues, from, span.length);
    }
    moveOn(m_stagedLength);
    discard();
}

void RingBuffer::commitWritten()
{
    moveOn(1);
}

void RingBuffer::moveOn(std::int64_t numTokens)
{
    m_held = ringAfter(m_held, numTokens, m_capacity);
    m_touched = std::max(m_touched, std::min(m_held.end, m_capacity));
}

void RingBuffer::discard()
{
    m_stagedKeys.reset();
    m_stagedValues.reset();
    m_stagedLength = 0;
}

KVView RingBuffer::view() const
{
    const c10::InferenceMode guard;
    KVView view;
    addSlots(view, newest(m_held, m_window));
    return view;
}

void RingBuffer::addSlots(KVView& view, RingRange range) const
{
    for (const SlotSpan& span : slotSpans(range, m_capacity))
        view.add({slotsOf(m_keys, span.slot, span.length),
                  slotsOf(m_values, span.slot, span.length), span.firstPosition});
}

RingBuffer RingBuffer::fork(std::int64_t n) const
{
    const c10::InferenceMode guard;
    RingBuffer copy(*this);
    copy.discard();
    copy.m_keys = m_keys.clone();
    copy.m_values = m_values.clone();
    copy.m_roundedKey.reset();
    copy.m_roundedValue.reset();
    copy.truncate(n);
    return copy;
}

void RingBuffer::reset()
{
    discard();
    m_held = {};
}

std::uint64_t RingBuffer::liveBytes() const
{
    return bytesPerSlot() * static_cast<std::uint64_t>(retained());
}

std::uint64_t RingBuffer::touchedBytes() const
{
    return bytesPerSlot() * static_cast<std::uint64_t>(m_touched);
}

std::uint64_t RingBuffer::bytesPerSlot() const
{
    return allocatedBytes() / static_cast<std::uint64_t>(m_capacity);
}

} // namespace kvscope
