#pragma once

#include "engine/base/memory_reading.h"
#include "engine/model/decoder.h"

#include <cstdint>
#include <optional>
#include <string>

namespace kvscope {

/// What a prompt is going to take beside the weights.
struct PromptNeed
{
    std::uint64_t cacheBytes = 0;      ///< cacheBytesNeeded()
    std::uint64_t activationBytes = 0; ///< of what runs at once

    std::uint64_t total() const { return cacheBytes + activationBytes; }
};

/// \param chunkTokens  of prefill; 0: one shot
PromptNeed promptNeed(const Decoder& decoder, const MixedKVCache& cache, std::int64_t tokens,
                      std::int64_t chunkTokens);

/// Why a prompt does not fit the memory, with the numbers; empty where it does, where the memory is
/// not known, and on a GPU, whose allocator answers for itself.
/// \param cache  that the prompt is run in: what it holds already counts as free
/// \param freeBytes  nothing: not known
std::string reasonAgainstPrompt(const Decoder& decoder, const MixedKVCache& cache,
                                std::int64_t tokens, std::int64_t chunkTokens,
                                std::optional<std::uint64_t> freeBytes = readFreeHostMemory());

/// \throws MemoryError where reasonAgainstPrompt() has one
void requirePromptFits(const Decoder& decoder, const MixedKVCache& cache, std::int64_t tokens,
                       std::int64_t chunkTokens);

} // namespace kvscope
