#pragma once

#include "engine/cache/mixed_kv_cache.h"

#include <cstdint>
#include <utility>

namespace kvscope {

/// A cache's open chunk, which is given back unless it was committed. No cache: nothing to do.
class OpenChunk
{
public:
    OpenChunk(MixedKVCache* cache, std::int64_t numTokens)
        : m_cache(cache)
    {
        if (m_cache != nullptr)
            m_cache->beginChunk(numTokens);
    }
    ~OpenChunk()
    {
        if (m_cache != nullptr)
            m_cache->discardChunk();
    }
    OpenChunk(const OpenChunk&) = delete;
    OpenChunk& operator=(const OpenChunk&) = delete;
    void commit()
    {
        if (m_cache != nullptr)
            std::exchange(m_cache, nullptr)->commitChunk();
    }
    /// As MixedKVCache::commitWritten(). \pre a cache
    void commitWritten() { std::exchange(m_cache, nullptr)->commitWritten(); }

private:
    MixedKVCache* m_cache;
};

} // namespace kvscope
