#pragma once

#include "engine/cache/buffer_shape.h"
#include "engine/cache/kv_view.h"
#include "engine/cache/ring_plan.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kvscope {

/// The last `window` positions of a sliding-window layer, and `slack` more that a truncation can go
/// back to.
///
/// Position p lives in slot p % capacity with capacity = window + slack, so memory stops growing at
/// 2 * B * Hkv * capacity * D * sizeof(dtype) bytes (int8, fp8: rows of D + 4, see scaled_rows.h).
/// A ring of more than 4,096 slots starts with those and grows as it fills, by grownCapacity(),
/// until it first wraps. A chunk is staged beside the ring and written over the oldest positions
/// when it is committed, since its own first queries still look at those. Owned by the engine
/// thread; not thread-safe. Move-only: fork() makes an independent copy. Source: GPT-OSS-Lite
/// inference/generate.py, MixedKVCache, windowed layers.
class RingBuffer
{
public:
    /// Allocates keys and values, each [B, Hkv, capacity, D]; slots are not initialised.
    /// \throws ArgumentError if the window is not positive or the slack is negative; MemoryError
    RingBuffer(const BufferShape& shape, std::int64_t window, std::int64_t slack,
               const at::TensorOptions& options);
    RingBuffer(RingBuffer&&) = default;
    RingBuffer& operator=(RingBuffer&&) = default;

    /// What the queries of the next T positions attend to: up to window - 1 stored positions in at
    /// most two segments, read in place, then the chunk itself in the buffer's dtype. Staging again
    /// before commit() replaces the chunk. \param keys, values  [B, Hkv, T, D], last dimension
    /// contiguous. Not written to by the caller until
    ///        commit() or discard(): where dtype and length allow, they are referenced, not copied.
    ///        Of a chunk longer than the ring only its tail is kept.
    /// \throws MemoryError where a long ring cannot grow; nothing has changed then.
    KVView stage(const at::Tensor& keys, const at::Tensor& values);
    /// What stage() does first: grows a long ring where T more positions ask for it.
    /// \throws MemoryError as stage()
    void makeRoom(std::int64_t numTokens);
    /// Stores the staged chunk; nothing where none is staged.
    void commit();
    /// Forgets the staged chunk.
    void discard();
    /// T of the staged chunk, 0 without one.
    std::int64_t staged() const { return m_stagedLength; }

    /// The newest retained() positions in time order: at most two segments, read in place.
    KVView view() const;
    KVSlots slots() const { return {m_keys, m_values}; }
    /// Counts the next position, whose slot of slots() the caller has written. \pre makeRoom(1),
    /// nothing staged
    void commitWritten();

    std::int64_t window() const { return m_window; }
    /// Slots there are now.
    std::int64_t capacity() const { return m_capacity; }
    /// Positions stored so far, evicted ones included.
    std::int64_t length() const { return m_held.end; }
    /// Positions that can be read, at most `window`.
    std::int64_t retained() const { return newest(m_held, m_window).length(); }
    /// The oldest position that can be read.
    std::int64_t firstPosition() const { return newest(m_held, m_window).first; }

    /// Whether everything that queries from n on may look at is still held.
    bool canTruncate(std::int64_t n) const { return canCutBackTo(m_held, n, m_window); }
    /// Cuts back to n positions; \pre canTruncate(n), nothing staged.
    void truncate(std::int64_t n) { m_held = ringCutBackTo(m_held, n); }
    /// An independent copy cut back to n positions; \pre canTruncate(n).
    RingBuffer fork(std::int64_t n) const;
    /// Empty again, with the same memory.
    void reset();

    std::uint64_t liveBytes() const;
    /// Of the allocated bytes those that were written to, which the kernel has really given.
    std::uint64_t touchedBytes() const;
    std::uint64_t allocatedBytes() const { return m_keys.nbytes() + m_values.nbytes(); }

private:
    RingBuffer(const RingBuffer&) = default; ///< shares memory; fork() then gives the copy its own

    /// The chunk in the buffer's dtype. A decode step's is converted into memory kept for it.
    at::Tensor rounded(const at::Tensor& chunk, at::Tensor& onePosition) const;
    void growTo(std::int64_t capacity);
    void moveOn(std::int64_t numTokens);
    std::uint64_t bytesPerSlot() const;
    void addSlots(KVView& view, RingRange range) const;

    BufferShape m_shape;
    std::int64_t m_window = 0;
    std::int64_t m_fullCapacity = 0; ///< window + slack
    std::int64_t m_capacity = 0;     ///< less only before the first wrap
    std::int64_t m_touched = 0;      ///< slots written to since they were allocated
    at::Tensor m_keys;               ///< [B, Hkv, capacity, D] contiguous
    at::Tensor m_values;
    RingRange m_held;
    at::Tensor m_stagedKeys; ///< the stored part of the chunk, in the buffer's dtype
    at::Tensor m_stagedValues;
    std::int64_t m_stagedLength = 0;
    at::Tensor m_roundedKey; ///< [B, Hkv, 1, D], where chunks come in another dtype
    at::Tensor m_roundedValue;
};

} // namespace kvscope
