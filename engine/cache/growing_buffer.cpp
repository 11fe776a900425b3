#include "engine/cache/growing_buffer.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/cache/chunk_check.h"
#include "engine/cache/device_work.h"
#include "engine/cache/growth_plan.h"
#include "engine/cache/slot_memory.h"
#include "engine/cache/slots.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>

namespace kvscope {

void requireBelowCap(std::int64_t length, std::int64_t numTokens, std::int64_t cap)
{
    if (passesCap(length, numTokens, cap))
        throw MemoryError("The cache holds " + formatCount(length) + " positions and would take " +
                          formatCount(numTokens) + " more; a global layer may hold at most " +
                          formatCount(cap) + ".");
}

GrowingBuffer::GrowingBuffer(const BufferShape& shape, std::int64_t cap,
                             const at::TensorOptions& options)
    : m_shape(shape)
    , m_cap(cap)
    , m_options(options)
{
}

KVView GrowingBuffer::stage(const at::Tensor& keys, const at::Tensor& values)
{
    checkChunk(m_shape, m_options.device(), keys, values);
    const c10::InferenceMode guard;
    const std::int64_t numTokens = keys.size(2);
    makeRoom(numTokens);
    writeSlots(m_keys, m_length, keys, 0, numTokens);
    writeSlots(m_values, m_length, values, 0, numTokens);
    m_stagedLength = numTokens;
    m_touched = std::max(m_touched, m_length + numTokens);
    return viewOf(m_length + numTokens);
}

void GrowingBuffer::makeRoom(std::int64_t numTokens)
{
    requireBelowCap(m_length, numTokens, m_cap);
    const c10::InferenceMode guard;
    m_stagedLength = 0;
    growTo(grownCapacity(m_capacity, m_length + numTokens, m_cap));
}

void GrowingBuffer::commit()
{
    m_length += m_stagedLength;
    m_stagedLength = 0;
}

KVSlots GrowingBuffer::slots() const
{
    if (m_capacity == 0)
        return {};
    return {slotsOf(m_keys, 0, m_capacity), slotsOf(m_values, 0, m_capacity)};
}

void GrowingBuffer::commitWritten()
{
    ++m_length;
    m_touched = std::max(m_touched, m_length);
}

void GrowingBuffer::reserve(std::int64_t n)
{
    requireBelowCap(0, n, m_cap);
    const c10::InferenceMode guard;
    growTo(std::max(n, m_capacity));
}

GrowingBuffer GrowingBuffer::fork(std::int64_t n) const
{
    GrowingBuffer copy(m_shape, m_cap, m_options);
    if (n == 0)
        return copy;
    const c10::InferenceMode guard;
    copy.growTo(std::min(m_capacity, grownCapacity(n, n + 1, m_cap)));
    writeSlots(copy.m_keys, 0, m_keys, 0, n);
    writeSlots(copy.m_values, 0, m_values, 0, n);
    copy.m_length = n;
    copy.m_touched = n;
    return copy;
}

void GrowingBuffer::reset()
{
    *this = GrowingBuffer(m_shape, m_cap, m_options);
}

void GrowingBuffer::growTo(std::int64_t capacity)
{
    if (capacity <= m_capacity)
        return;
    const auto start = std::chrono::steady_clock::now();
    // One after the other, so that only one old array lies beside its copy. Should the second
    // allocation fail, m_capacity still holds for both.
    for (at::Tensor* array : {&m_keys, &m_values}) {
        if (array->defined())
            m_peakGrowthBytes = std::max<std::uint64_t>(m_peakGrowthBytes, array->nbytes());
        *array = moved(*array, capacity);
    }
    waitForDevice(m_options.device());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    m_growth.push_back({m_length, capacity, elapsed.count()});
    m_capacity = capacity;
    m_touched = m_length;
}

at::Tensor GrowingBuffer::moved(const at::Tensor& old, std::int64_t capacity) const
{
    at::Tensor array = allocateSlots(m_shape, capacity, m_options);
    if (m_length > 0)
        writeSlots(array, 0, old, 0, m_length);
    return array;
}

KVView GrowingBuffer::viewOf(std::int64_t length) const
{
    KVView view;
    if (length > 0)
        view.add({slotsOf(m_keys, 0, length), slotsOf(m_values, 0, length), 0});
    return view;
}

KVView GrowingBuffer::view() const
{
    const c10::InferenceMode guard;
    return viewOf(m_length);
}

std::uint64_t GrowingBuffer::liveBytes() const
{
    return static_cast<std::uint64_t>(m_length) * m_shape.bytesPerToken(m_options);
}

std::uint64_t GrowingBuffer::touchedBytes() const
{
    return static_cast<std::uint64_t>(m_touched) * m_shape.bytesPerToken(m_options);
}

std::uint64_t GrowingBuffer::allocatedBytes() const
{
    // Of the first array the keys may be there alone, where the values found no memory.
    return (m_keys.defined() ? m_keys.nbytes() : 0) + (m_values.defined() ? m_values.nbytes() : 0);
}

} // namespace kvscope
