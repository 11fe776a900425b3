#pragma once

#include "engine/cache/cache_snapshot.h"
#include "engine/cache/growing_buffer.h"
#include "engine/cache/kv_view.h"
#include "engine/cache/ring_buffer.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <variant>
#include <vector>

namespace kvscope {

/// What a cache needs to know of one layer.
struct CacheLayerShape
{
    bool isWindowed = false;
    std::int64_t window = 0; ///< W where windowed
};

/// What a cache needs to know of a model.
struct CacheShape
{
    std::vector<CacheLayerShape> layers;
    std::int64_t batch = 1;
    std::int64_t numKvHeads = 0;
    std::int64_t headDim = 0;
    std::int64_t ringSlack =
        0; ///< k extra slots in every ring: the last k + 1 positions can be taken back
    std::int64_t capTokens = 4'000'000; ///< most positions a global layer may hold
};

/// The keys and values of every layer: a ring per windowed layer, a growing array per global one.
///
/// A chunk of T positions is stored in two phases, so that its queries see what the ring held
/// before it and so that a cancelled chunk leaves no trace: \code
///   cache.beginChunk(T);                       // refuses what would pass the cap
///   for each layer: view = cache.stage(layer, keys, values);   // attend over `view`
///   cache.commitChunk();                       // or discardChunk()
/// \endcode
/// Owned by the engine thread; not thread-safe. Source: GPT-OSS-Lite inference/generate.py,
/// MixedKVCache, whose prefill past the window and cap are mended here.
class MixedKVCache
{
public:
    /// Allocates the rings; global layers allocate on their first chunk.
    /// \throws ArgumentError if a size is not positive.
    MixedKVCache(CacheShape shape, at::TensorOptions options);
    MixedKVCache(MixedKVCache&&) = default;
    MixedKVCache& operator=(MixedKVCache&&) = default;

    const CacheShape& shape() const { return m_shape; }
    at::TensorOptions options() const { return m_options; }

    /// \throws MemoryError, before anything changed, if a global layer would pass the cap.
    /// \throws ArgumentError if numTokens is not positive or a chunk is open.
    void beginChunk(std::int64_t numTokens);
    /// What the chunk's queries in `layer` attend to: history, then the chunk itself.
    /// A global layer may reallocate: views taken before keep the old array's memory, so drop them
    /// first. \param keys, values  [B, Hkv, T, D], any strides with a contiguous last dimension.
    /// Where the layer is
    ///        windowed they are referenced until the chunk is committed or discarded: do not write
    ///        to them.
    KVView stage(std::int64_t layer, const at::Tensor& keys, const at::Tensor& values);
    /// Makes the staged positions part of every layer. Every layer must have been staged.
    void commitChunk();
    /// The arrays of a layer, for who writes a position's keys and values to its slots itself and
    /// ends the chunk with commitWritten(). They are replaced as layers grow: in beginChunk(),
    /// reserve(), reset(). In a ring the position takes the place of one that
    /// truncate() could go back to, so a chunk that has been written must not be discarded.
    KVSlots slots(std::int64_t layer) const;
    /// Makes the open chunk of one position part of every layer, whose slots have been written.
    void commitWritten();
    /// Forgets the staged positions; the cache is as before beginChunk (a grown capacity stays).
    void discardChunk();

    /// Positions stored so far.
    std::int64_t seqLen() const { return m_length; }
    /// Positions that can be read in one layer: all in a global one, min(seqLen, W) in a ring, and
    /// less in a ring just after a truncation.
    std::int64_t seqLen(std::int64_t layer) const;
    /// What can be read in a layer, in time order, without a copy; a staged chunk is not part of
    /// it.
    KVView view(std::int64_t layer) const;

    /// The longest prefix of at most n positions that the cache can be cut back to exactly: n where
    /// every ring still holds all that queries from n on may look at, otherwise 0.
    std::int64_t reusablePrefix(std::int64_t n) const;
    /// Cuts back to reusablePrefix(n) positions and returns that number. Global layers keep their
    /// capacity. \throws ArgumentError while a chunk is open.
    std::int64_t truncate(std::int64_t n);
    /// Allocates global layers for n positions in advance, so that none of them grows before.
    /// \throws MemoryError past the cap, before anything changed; ArgumentError while a chunk is
    /// open.
    void reserve(std::int64_t n);
    /// Positions that global layers have room for before one of them grows; the cap without any.
    std::int64_t globalCapacity() const;
    /// An independent copy cut back to exactly n positions.
    /// \throws ArgumentError where reusablePrefix(n) != n, or while a chunk is open.
    MixedKVCache fork(std::int64_t n) const;
    /// Empty again; rings keep their memory, global layers give theirs back. An open chunk is
    /// discarded.
    void reset();

    std::uint64_t liveBytes() const;
    /// Of the allocated bytes those that were written to: what freeing the cache would give back.
    std::uint64_t touchedBytes() const;
    std::uint64_t allocatedBytes() const;
    CacheSnapshot snapshot() const;

private:
    using Buffer = std::variant<RingBuffer, GrowingBuffer>;

    MixedKVCache(CacheShape shape, at::TensorOptions options, std::vector<Buffer> buffers,
                 std::int64_t length);
    std::size_t checkedIndex(std::int64_t layer) const;
    void requireNoOpenChunk() const;
    void requireRoomFor(std::int64_t numTokens) const;

    CacheShape m_shape;
    at::TensorOptions m_options;
    std::vector<Buffer> m_buffers;
    std::int64_t m_length = 0;
    std::int64_t m_openChunk = 0; ///< T of the chunk in progress, 0 without one
    std::uint64_t m_step = 0;
};

} // namespace kvscope
