#include "engine/cache/mixed_kv_cache.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <string>
#include <utility>

namespace kvscope {
namespace {

void requirePositive(std::int64_t value, const char* name)
{
    if (value <= 0)
        throw ArgumentError("A cache needs a positive " + std::string(name) + ", got " +
                            std::to_string(value) + ".");
}

void checkShape(const CacheShape& shape)
{
    requirePositive(static_cast<std::int64_t>(shape.layers.size()), "number of layers");
    requirePositive(shape.batch, "batch");
    requirePositive(shape.numKvHeads, "number of key/value heads");
    requirePositive(shape.headDim, "head dim");
    requirePositive(shape.capTokens, "cap");
}

LayerCacheState stateOf(const RingBuffer& ring)
{
    LayerCacheState state;
    state.isWindowed = true;
    state.window = ring.window();
    state.capacity = ring.capacity();
    state.retained = ring.retained();
    state.firstPosition = ring.firstPosition();
    state.liveBytes = ring.liveBytes();
    state.allocatedBytes = ring.allocatedBytes();
    return state;
}

LayerCacheState stateOf(const GrowingBuffer& array)
{
    LayerCacheState state;
    state.capacity = array.capacity();
    state.retained = array.length();
    state.liveBytes = array.liveBytes();
    state.allocatedBytes = array.allocatedBytes();
    state.growth = array.growth();
    return state;
}

} // namespace

MixedKVCache::MixedKVCache(CacheShape shape, at::TensorOptions options)
    : m_shape(std::move(shape))
    , m_options(options)
{
    checkShape(m_shape);
    const BufferShape bufferShape{m_shape.batch, m_shape.numKvHeads, m_shape.headDim};
    m_buffers.reserve(m_shape.layers.size());
    for (const CacheLayerShape& layer : m_shape.layers) {
        if (layer.isWindowed)
            m_buffers.emplace_back(
                RingBuffer(bufferShape, layer.window, m_shape.ringSlack, options));
        else
            m_buffers.emplace_back(GrowingBuffer(bufferShape, m_shape.capTokens, options));
    }
}

MixedKVCache::MixedKVCache(CacheShape shape, at::TensorOptions options, std::vector<Buffer> buffers,
                           std::int64_t length)
    : m_shape(std::move(shape))
    , m_options(options)
    , m_buffers(std::move(buffers))
    , m_length(length)
{
}

void MixedKVCache::beginChunk(std::int64_t numTokens)
{
    requireNoOpenChunk();
    requirePositive(numTokens, "chunk length");
    requireRoomFor(numTokens);
    for (Buffer& buffer : m_buffers)
        std::visit([&](auto& b) { b.makeRoom(numTokens); }, buffer);
    m_openChunk = numTokens;
}

KVView MixedKVCache::stage(std::int64_t layer, const at::Tensor& keys, const at::Tensor& values)
{
    TORCH_CHECK(m_openChunk > 0, "stage() needs an open chunk");
    TORCH_CHECK(keys.dim() == 4 && keys.size(2) == m_openChunk, "a chunk of ", m_openChunk,
                " positions was begun, layer ", layer, " staged ", keys.sizes());
    return std::visit([&](auto& buffer) { return buffer.stage(keys, values); },
                      m_buffers[checkedIndex(layer)]);
}

void MixedKVCache::commitChunk()
{
    TORCH_CHECK(m_openChunk > 0, "commitChunk() needs an open chunk");
    for (std::size_t layer = 0; layer < m_buffers.size(); ++layer) {
        const auto staged =
            std::visit([](const auto& buffer) { return buffer.staged(); }, m_buffers[layer]);
        TORCH_CHECK(staged == m_openChunk, "layer ", layer, " was not staged");
    }
    for (Buffer& buffer : m_buffers)
        std::visit([](auto& b) { b.commit(); }, buffer);
    m_length += m_openChunk;
    m_openChunk = 0;
    ++m_step;
}

KVSlots MixedKVCache::slots(std::int64_t layer) const
{
    return std::visit([](const auto& buffer) { return buffer.slots(); },
                      m_buffers[checkedIndex(layer)]);
}

void MixedKVCache::commitWritten()
{
    TORCH_CHECK(m_openChunk == 1, "commitWritten() needs an open chunk of one position");
    for (Buffer& buffer : m_buffers)
        std::visit([](auto& b) { b.commitWritten(); }, buffer);
    ++m_length;
    m_openChunk = 0;
    ++m_step;
}

void MixedKVCache::discardChunk()
{
    for (Buffer& buffer : m_buffers)
        std::visit([](auto& b) { b.discard(); }, buffer);
    m_openChunk = 0;
}

std::int64_t MixedKVCache::seqLen(std::int64_t layer) const
{
    const Buffer& buffer = m_buffers[checkedIndex(layer)];
    if (const auto* ring = std::get_if<RingBuffer>(&buffer))
        return ring->retained();
    return std::get<GrowingBuffer>(buffer).length();
}

KVView MixedKVCache::view(std::int64_t layer) const
{
    return std::visit([](const auto& buffer) { return buffer.view(); },
                      m_buffers[checkedIndex(layer)]);
}

std::int64_t MixedKVCache::reusablePrefix(std::int64_t n) const
{
    const std::int64_t prefix = std::clamp<std::int64_t>(n, 0, m_length);
    const bool everyRingHoldsIt = std::ranges::all_of(m_buffers, [&](const Buffer& buffer) {
        const auto* ring = std::get_if<RingBuffer>(&buffer);
        return ring == nullptr || ring->canTruncate(prefix);
    });
    return everyRingHoldsIt ? prefix : 0;
}

std::int64_t MixedKVCache::truncate(std::int64_t n)
{
    requireNoOpenChunk();
    const std::int64_t prefix = reusablePrefix(n);
    for (Buffer& buffer : m_buffers)
        std::visit([&](auto& b) { b.truncate(prefix); }, buffer);
    m_length = prefix;
    return prefix;
}

void MixedKVCache::reserve(std::int64_t n)
{
    requireNoOpenChunk();
    if (n <= m_length)
        return;
    requireRoomFor(n - m_length);
    for (Buffer& buffer : m_buffers)
        if (auto* array = std::get_if<GrowingBuffer>(&buffer))
            array->reserve(n);
}

std::int64_t MixedKVCache::globalCapacity() const
{
    std::int64_t capacity = m_shape.capTokens;
    for (const Buffer& buffer : m_buffers)
        if (const auto* array = std::get_if<GrowingBuffer>(&buffer))
            capacity = std::min(capacity, array->capacity());
    return capacity;
}

MixedKVCache MixedKVCache::fork(std::int64_t n) const
{
    requireNoOpenChunk();
    if (n < 0 || reusablePrefix(n) != n)
        throw ArgumentError("The cache of " + formatCount(m_length) +
                            " positions cannot be copied up to position " + formatCount(n) +
                            ": its rings no longer hold what comes before.");
    std::vector<Buffer> buffers;
    buffers.reserve(m_buffers.size());
    for (const Buffer& buffer : m_buffers)
        buffers.push_back(std::visit([&](const auto& b) { return Buffer(b.fork(n)); }, buffer));
    return {m_shape, m_options, std::move(buffers), n};
}

void MixedKVCache::reset()
{
    for (Buffer& buffer : m_buffers)
        std::visit([](auto& b) { b.reset(); }, buffer);
    m_length = 0;
    m_openChunk = 0;
}

std::uint64_t MixedKVCache::liveBytes() const
{
    std::uint64_t total = 0;
    for (const Buffer& buffer : m_buffers)
        total += std::visit([](const auto& b) { return b.liveBytes(); }, buffer);
    return total;
}

std::uint64_t MixedKVCache::touchedBytes() const
{
    std::uint64_t total = 0;
    for (const Buffer& buffer : m_buffers)
        total += std::visit([](const auto& b) { return b.touchedBytes(); }, buffer);
    return total;
}

std::uint64_t MixedKVCache::allocatedBytes() const
{
    std::uint64_t total = 0;
    for (const Buffer& buffer : m_buffers)
        total += std::visit([](const auto& b) { return b.allocatedBytes(); }, buffer);
    return total;
}

CacheSnapshot MixedKVCache::snapshot() const
{
    CacheSnapshot snapshot;
    snapshot.step = m_step;
    snapshot.contextLength = m_length;
    snapshot.batch = m_shape.batch;
    snapshot.layers.reserve(m_buffers.size());
    for (const Buffer& buffer : m_buffers) {
        const auto& state = snapshot.layers.emplace_back(
            std::visit([](const auto& b) { return stateOf(b); }, buffer));
        snapshot.liveBytes += state.liveBytes;
        snapshot.allocatedBytes += state.allocatedBytes;
        if (const auto* array = std::get_if<GrowingBuffer>(&buffer))
            snapshot.peakGrowthBytes = std::max(snapshot.peakGrowthBytes, array->peakGrowthBytes());
    }
    const BufferShape shape{m_shape.batch, m_shape.numKvHeads, m_shape.headDim};
    snapshot.allGlobalBytes =
        m_buffers.size() * static_cast<std::uint64_t>(m_length) * shape.bytesPerToken(m_options);
    return snapshot;
}

std::size_t MixedKVCache::checkedIndex(std::int64_t layer) const
{
    TORCH_CHECK(layer >= 0 && layer < std::ssize(m_buffers), "no layer ", layer, " in a cache of ",
                m_buffers.size());
    return static_cast<std::size_t>(layer);
}

void MixedKVCache::requireNoOpenChunk() const
{
    if (m_openChunk > 0)
        throw ArgumentError("A chunk of " + formatCount(m_openChunk) +
                            " positions is open; commit or discard it first.");
}

void MixedKVCache::requireRoomFor(std::int64_t numTokens) const
{
    const bool hasGlobalLayer = std::ranges::any_of(
        m_shape.layers, [](const CacheLayerShape& layer) { return !layer.isWindowed; });
    if (hasGlobalLayer)
        requireBelowCap(m_length, numTokens, m_shape.capTokens);
}

} // namespace kvscope
