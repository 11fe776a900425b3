#pragma once

#include "engine/cache/buffer_shape.h"
#include "engine/cache/cache_snapshot.h"
#include "engine/cache/kv_view.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kvscope {

/// \throws MemoryError with all three numbers if `numTokens` more positions after `length` pass the
/// cap.
void requireBelowCap(std::int64_t length, std::int64_t numTokens, std::int64_t cap);

/// Every position of a global layer, in one array that is replaced by a larger one when it is full.
///
/// Position p lives in slot p. A chunk is written behind the stored positions when it is staged,
/// and counts once it is committed. Growth follows grownCapacity() and copies the stored positions
/// only: keys first, then values, so that one of the two is held twice at a time. Owned by the
/// engine thread; not thread-safe. Move-only: fork() makes an independent copy. Source:
/// GPT-OSS-Lite inference/generate.py, MixedKVCache, global layers.
class GrowingBuffer
{
public:
    /// Allocates nothing yet.
    /// \param cap  most positions it may hold
    GrowingBuffer(const BufferShape& shape, std::int64_t cap, const at::TensorOptions& options);
    GrowingBuffer(GrowingBuffer&&) = default;
    GrowingBuffer& operator=(GrowingBuffer&&) = default;

    /// Makes room, writes the next T positions behind the stored ones, converted to the buffer's
    /// dtype, and returns one segment of all of them. Staging again before commit() replaces the
    /// chunk. Earlier views keep the memory of an array that was replaced. \param keys, values  [B,
    /// Hkv, T, D], last dimension contiguous \throws MemoryError past the cap, before anything
    /// changed.
    KVView stage(const at::Tensor& keys, const at::Tensor& values);
    /// What stage() does first: grows where T more positions do not fit. \throws as stage()
    void makeRoom(std::int64_t numTokens);
    /// Makes the staged chunk count; nothing where none is staged.
    void commit();
    /// Forgets the staged chunk; capacity stays.
    void discard() { m_stagedLength = 0; }
    /// T of the staged chunk, 0 without one.
    std::int64_t staged() const { return m_stagedLength; }

    /// All stored positions: one segment, or none while empty.
    KVView view() const;
    /// Undefined arrays at capacity 0.
    KVSlots slots() const;
    /// Counts the next position, whose slot of slots() the caller has written. \pre makeRoom(1),
    /// nothing staged
    void commitWritten();

    /// Positions stored.
    std::int64_t length() const { return m_length; }
    /// Positions that fit without growing.
    std::int64_t capacity() const { return m_capacity; }

    /// Allocates for n positions at least. \pre nothing staged.
    /// \throws MemoryError past the cap, before anything changed.
    void reserve(std::int64_t n);
    /// Cuts back to n positions; capacity stays. \pre 0 <= n <= length(), nothing staged.
    void truncate(std::int64_t n) { m_length = n; }
    /// An independent copy of the first n positions, with room as if it had just grown to hold the
    /// next one (but no more than there is here), so that a branch does not copy itself on its
    /// first token. \pre 0 <= n <= length()
    GrowingBuffer fork(std::int64_t n) const;
    /// Empty again; gives its memory back.
    void reset();

    std::uint64_t liveBytes() const;
    /// Of the allocated bytes those that were written to, which the kernel has really given.
    std::uint64_t touchedBytes() const;
    std::uint64_t allocatedBytes() const;
    /// Every new array since the last reset, the first one included (at length 0, nothing to copy),
    /// so that the events are all steps of the capacity.
    const std::vector<GrowthEvent>& growth() const { return m_growth; }
    /// Most bytes of an old array kept beside the new one while it was copied, since the last
    /// reset.
    std::uint64_t peakGrowthBytes() const { return m_peakGrowthBytes; }

private:
    void growTo(std::int64_t capacity);
    at::Tensor moved(const at::Tensor& old, std::int64_t capacity) const;
    KVView viewOf(std::int64_t length) const;

    BufferShape m_shape;
    std::int64_t m_cap = 0;
    at::TensorOptions m_options;
    at::Tensor m_keys; ///< [B, Hkv, capacity, D] contiguous; undefined at capacity 0
    at::Tensor m_values;
    std::int64_t m_capacity = 0;
    std::int64_t m_length = 0;
    std::int64_t m_stagedLength = 0;
    std::int64_t m_touched = 0; ///< positions written to since the array was allocated
    std::vector<GrowthEvent> m_growth;
    std::uint64_t m_peakGrowthBytes = 0;
};

} // namespace kvscope
