#include "engine/lab/prompt_room.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/generate/generator.h"
#include "engine/lab/memory_costs.h"

#include <algorithm>

namespace kvscope {

PromptNeed promptNeed(const Decoder& decoder, const MixedKVCache& cache, std::int64_t tokens,
                      std::int64_t chunkTokens)
{
    const std::int64_t atOnce = chunkTokens > 0 ? std::min(chunkTokens, tokens) : tokens;
    return {cacheBytesNeeded(cache, tokens), activationBytes(decoder.config(), atOnce)};
}

std::string reasonAgainstPrompt(const Decoder& decoder, const MixedKVCache& cache,
                                std::int64_t tokens, std::int64_t chunkTokens,
                                std::optional<std::uint64_t> freeBytes)
{
    if (!decoder.device().is_cpu() || !freeBytes)
        return {};
    const PromptNeed need = promptNeed(decoder, cache, tokens, chunkTokens);
    const std::uint64_t available = *freeBytes + cache.touchedBytes();
    if (need.total() <= available)
        return {};
    return formatCount(tokens) + " tokens need " + formatBytes(need.cacheBytes) +
           " of cache and about " + formatBytes(need.activationBytes) + " for activations, " +
           formatBytes(available) + " are free";
}

void requirePromptFits(const Decoder& decoder, const MixedKVCache& cache, std::int64_t tokens,
                       std::int64_t chunkTokens)
{
    const std::string reason = reasonAgainstPrompt(decoder, cache, tokens, chunkTokens);
    if (!reason.empty())
        throw MemoryError(reason);
}

} // namespace kvscope
