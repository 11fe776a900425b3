#pragma once

#include "engine/cache/mixed_kv_cache.h"
#include "tests/engine/cache/cache_test_data.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>

#include <vector>

// A cache of every kind of layer, and the slow history that it is compared with.

namespace kvscope {

/// The slow cache: per layer all keys ever stored, [B, Hkv, S, D] in the cache's dtype. Values are
/// the keys negated.
class PlainHistory
{
public:
    explicit PlainHistory(const CacheShape& shape)
        : m_layers(shape.layers.size())
    {
    }
    void append(std::size_t layer, const at::Tensor& keys)
    {
        m_layers[layer] = m_layers[layer].defined() ? at::cat({m_layers[layer], keys}, 2) : keys;
    }
    void truncate(std::int64_t n)
    {
        for (auto& keys : m_layers)
            if (keys.defined())
                keys = n == 0 ? at::Tensor() : keys.narrow(2, 0, n);
    }
    const at::Tensor& keys(std::size_t layer) const { return m_layers[layer]; }

private:
    std::vector<at::Tensor> m_layers;
};

inline CacheShape mixedShape(std::int64_t window = 4, std::int64_t slack = 0)
{
    CacheShape shape;
    shape.layers = {{true, window}, {false, 0}, {true, window + 2}, {false, 0}};
    shape.numKvHeads = 2;
    shape.headDim = 3;
    shape.ringSlack = slack;
    return shape;
}

/// The 502M shape of GPT-OSS-Lite.
inline CacheShape shape502M()
{
    CacheShape shape;
    for (int layer = 0; layer < 12; ++layer)
        shape.layers.push_back({layer % 2 == 0, 128});
    shape.numKvHeads = 4;
    shape.headDim = 96;
    return shape;
}

inline at::Tensor randomKeys(const CacheShape& shape, std::int64_t length)
{
    return at::randn({shape.batch, shape.numKvHeads, length, shape.headDim});
}

/// Runs one chunk of random keys through every layer of cache and history.
inline void appendRandom(MixedKVCache& cache, PlainHistory& history, std::int64_t length)
{
    cache.beginChunk(length);
    for (std::size_t layer = 0; layer < cache.shape().layers.size(); ++layer) {
        const auto keys = randomKeys(cache.shape(), length);
        cache.stage(std::int64_t(layer), keys, -keys);
        history.append(layer, keys.to(cache.options().dtype().toScalarType()));
    }
    cache.commitChunk();
}

inline void appendRandom(MixedKVCache& cache, std::int64_t length)
{
    PlainHistory unused(cache.shape());
    appendRandom(cache, unused, length);
}

/// Whether a view holds, negated in its values, exactly the positions [first, end) of a history at
/// its end, perhaps after older ones that no query sees.
inline bool endsWith(const KVView& view, const at::Tensor& history, std::int64_t first,
                     std::int64_t end)
{
    if (view.numSegments == 0)
        return first == end;
    if (!isConsecutive(view) || view.firstPosition() > first ||
        view.firstPosition() + view.length() != end)
        return false;
    const auto skipped = first - view.firstPosition();
    const auto want = history.narrow(2, first, end - first);
    return at::equal(joinedKeys(view).narrow(2, skipped, end - first), want) &&
           at::equal(joinedValues(view).narrow(2, skipped, end - first), -want);
}

/// The oldest position that queries from `position` on see in a layer.
inline std::int64_t oldestSeen(const CacheLayerShape& layer, std::int64_t position)
{
    return layer.isWindowed ? oldestVisible(position, layer.window) : 0;
}

inline std::vector<std::vector<QList<double>>> contents(const MixedKVCache& cache)
{
    std::vector<std::vector<QList<double>>> result;
    for (std::int64_t layer = 0; layer < std::ssize(cache.shape().layers); ++layer)
        result.push_back({positionsIn(joinedKeys(cache.view(layer))),
                          positionsIn(joinedValues(cache.view(layer)))});
    return result;
}

} // namespace kvscope
