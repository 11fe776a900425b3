#pragma once

#include "engine/cache/cache_snapshot.h"
#include "engine/generate/generation.h"
#include "engine/session/engine_snapshot.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kvscope {

/// A model whose even layers are windowed (all global where window is 0).
inline ModelDescription fakeModel(int numLayers, std::int64_t window)
{
    ModelDescription model;
    for (int i = 0; i < numLayers; ++i) {
        LayerDescription layer;
        layer.isWindowed = window > 0 && i % 2 == 0;
        layer.window = layer.isWindowed ? window : 0;
        layer.hasSink = window > 0;
        layer.identityPairs = window > 0 && !layer.isWindowed ? 24 : 0;
        layer.cacheBytesPerToken = 1024;
        model.layers.push_back(layer);
    }
    return model;
}

/// The cache of fakeModel() after a prefill in chunks: a ring holds the last `window` positions, an
/// array grows to max(needed, floor(1.5 * capacity) + 1).
inline CacheSnapshot fakeSnapshot(int numLayers, std::int64_t window, std::int64_t length,
                                  std::int64_t ringSlack = 0, std::int64_t chunk = 256)
{
    CacheSnapshot snapshot;
    snapshot.contextLength = length;
    for (int i = 0; i < numLayers; ++i) {
        LayerCacheState layer;
        if (window > 0 && i % 2 == 0) {
            layer.isWindowed = true;
            layer.window = window;
            layer.capacity = window + ringSlack;
            layer.retained = std::min(length, window);
            layer.firstPosition = length - layer.retained;
        } else {
            for (std::int64_t held = 0; held < length; held += chunk) {
                const std::int64_t needed = std::min(length, held + chunk);
                if (needed <= layer.capacity)
                    continue;
                layer.capacity = std::max(needed, layer.capacity * 3 / 2 + 1);
                layer.growth.push_back({held, layer.capacity, 0.0005 + 0.00001 * i});
            }
            layer.retained = length;
        }
        layer.liveBytes = static_cast<std::uint64_t>(layer.retained) * 1024;
        layer.allocatedBytes = static_cast<std::uint64_t>(layer.capacity) * 1024;
        snapshot.liveBytes += layer.liveBytes;
        snapshot.allocatedBytes += layer.allocatedBytes;
        snapshot.layers.push_back(layer);
    }
    return snapshot;
}

/// Tokens 0 … count - 1, each with the piece " read", id 803 and a loss of 1.42 nats.
inline std::vector<TokenRecord> fakeTokens(std::int64_t count)
{
    std::vector<TokenRecord> tokens;
    for (std::int64_t position = 0; position < count; ++position) {
        TokenRecord token;
        token.id = 803;
        token.position = position;
        token.piece = " read";
        token.text = token.piece;
        token.nll = 1.42;
        tokens.push_back(token);
    }
    return tokens;
}

} // namespace kvscope
