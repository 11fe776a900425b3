#pragma once

#include "engine/base/cache_numbers.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kvscope {

/// What the bytes of a cache follow from: which layers are windowed, and the bytes of one position.
/// The default is the 502M GPT-OSS-Lite in bfloat16: 12 layers, every other one with a window of
/// 128.
struct KVCacheDescription
{
    std::vector<std::int64_t> windows = {128, 0, 128, 0, 128, 0,
                                         128, 0, 128, 0, 128, 0}; ///< per layer W, 0: global
    std::int64_t numKvHeads = 4;
    std::int64_t headDim = 96;
    CacheNumbers numbers;
    std::int64_t batch = 1;

    /// Keys and values of one position in one layer, all of the batch.
    std::int64_t bytesPerTokenPerLayer() const
    {
        return 2 * batch * numKvHeads * numbers.rowBytes(headDim);
    }
};

/// One line of the table. Arithmetic, not a measurement: live bytes, without slack or growth
/// copies.
struct KVCacheTableRow
{
    std::int64_t tokens = 0;
    std::uint64_t allGlobalBytes = 0; ///< every layer keeps every position
    std::uint64_t mixedBytes = 0;     ///< windowed layers keep the last min(tokens, W)
    double reduction = 1.0;           ///< allGlobalBytes / mixedBytes
};

struct KVCacheTable
{
    KVCacheDescription description;
    std::vector<KVCacheTableRow> rows;
};

/// The length the pass line is drawn at, and the least reduction that passes there.
/// Source: GPT-OSS-Lite scripts/kv_cache_benchmark.py.
inline constexpr std::int64_t kKVCachePassTokens = 131072;
inline constexpr double kKVCachePassReduction = 1.8;

/// Bytes of the mixed cache against full attention in every layer, one row a length, in the order
/// given. Source: GPT-OSS-Lite, inference chapter, KV-cache engineering; its "GB" are GiB. \throws
/// ArgumentError for a description with a size that is not positive or no layers, a length below 1,
///         or a table whose bytes pass 2^63.
KVCacheTable kvCacheTable(const KVCacheDescription& description,
                          std::span<const std::int64_t> lengths);

/// One row, for the pass line and for plots.
/// \throws ArgumentError as above
KVCacheTableRow kvCacheTableRow(const KVCacheDescription& description, std::int64_t tokens);

/// Whether the cache is at least kKVCachePassReduction times smaller at kKVCachePassTokens.
bool passesKVCacheLine(const KVCacheDescription& description);

} // namespace kvscope
