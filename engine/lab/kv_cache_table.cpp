#include "engine/lab/kv_cache_table.h"

#include "engine/base/errors.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>

namespace kvscope {
namespace {

void requirePositive(std::int64_t value, const char* name)
{
    if (value <= 0)
        throw ArgumentError("The key/value cache table needs a positive " + std::string(name) +
                            ", got " + std::to_string(value) + ".");
}

/// The product of sizes; \throws ArgumentError past 2^63, so that no row is silently wrong.
std::int64_t checkedProduct(std::initializer_list<std::int64_t> factors)
{
    std::int64_t product = 1;
    for (const std::int64_t factor : factors) {
        if (factor > std::numeric_limits<std::int64_t>::max() / product)
            throw ArgumentError(
                "The key/value cache table cannot count more than 2^63 bytes; a length or a "
                "size of the model is too large.");
        product *= factor;
    }
    return product;
}

void check(const KVCacheDescription& description, std::int64_t tokens)
{
    requirePositive(std::ssize(description.windows), "number of layers");
    requirePositive(description.numKvHeads, "number of key/value heads");
    requirePositive(description.headDim, "head dim");
    requirePositive(description.numbers.elementBytes, "element size");
    requirePositive(description.batch, "batch");
    requirePositive(tokens, "length");
    for (const std::int64_t window : description.windows)
        if (window < 0)
            requirePositive(window, "window");
    checkedProduct({2, description.batch, description.numKvHeads, description.headDim,
                    description.numbers.elementBytes + description.numbers.scaleBytes,
                    std::ssize(description.windows), tokens});
}

} // namespace

KVCacheTableRow kvCacheTableRow(const KVCacheDescription& description, std::int64_t tokens)
{
    check(description, tokens);
    std::int64_t keptPositions = 0;
    for (const std::int64_t window : description.windows)
        keptPositions += window > 0 ? std::min(tokens, window) : tokens;
    const std::int64_t tokenBytes = description.bytesPerTokenPerLayer();

    KVCacheTableRow row;
    row.tokens = tokens;
    row.allGlobalBytes =
        static_cast<std::uint64_t>(std::ssize(description.windows) * tokens * tokenBytes);
    row.mixedBytes = static_cast<std::uint64_t>(keptPositions * tokenBytes);
    row.reduction = static_cast<double>(row.allGlobalBytes) / static_cast<double>(row.mixedBytes);
    return row;
}

KVCacheTable kvCacheTable(const KVCacheDescription& description,
                          std::span<const std::int64_t> lengths)
{
    KVCacheTable table;
    table.description = description;
    table.rows.reserve(lengths.size());
    for (const std::int64_t tokens : lengths)
        table.rows.push_back(kvCacheTableRow(description, tokens));
    return table;
}

bool passesKVCacheLine(const KVCacheDescription& description)
{
    return kvCacheTableRow(description, kKVCachePassTokens).reduction >= kKVCachePassReduction;
}

} // namespace kvscope
