#include "engine/cache/ring_buffer.h"

#include "engine/base/errors.h"
#include "engine/cache/chunk_check.h"
#include "engine/cache/slots.h"

#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <string>

namespace kvscope {
namespace {

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
    , m_capacity(window + slack)
{
    if (window <= 0 || slack < 0)
        throw ArgumentError(
            "A ring needs a window of at least 1 position and no negative slack, got " +
            std::to_string(window) + " and " + std::to_string(slack) + ".");
    const c10::InferenceMode guard;
    m_keys = at::empty({shape.batch, shape.numKvHeads, m_capacity, shape.headDim}, options);
    m_values = at::empty(m_keys.sizes(), options);
}

KVView RingBuffer::stage(const at::Tensor& keys, const at::Tensor& values)
{
    checkChunk(m_shape, m_keys.device(), keys, values);
    const c10::InferenceMode guard;
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

at::Tensor RingBuffer::rounded(const at::Tensor& chunk, at::Tensor& onePosition) const
{
    if (chunk.scalar_type() == m_keys.scalar_type())
        return chunk;
    if (chunk.size(2) != 1)
        return chunk.to(m_keys.scalar_type());
    if (!onePosition.defined())
        onePosition = at::empty(chunk.sizes(), m_keys.options());
    writeSlots(onePosition, 0, chunk, 0, 1);
    return onePosition;
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
    m_held = ringAfter(m_held, m_stagedLength, m_capacity);
    discard();
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
    return allocatedBytes() / static_cast<std::uint64_t>(m_capacity) *
           static_cast<std::uint64_t>(retained());
}

} // namespace kvscope
