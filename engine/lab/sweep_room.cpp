#include "engine/lab/sweep_room.h"

#include "engine/base/units.h"
#include "engine/kernels/device_memory.h"
#include "engine/lab/prompt_room.h"

#include <optional>

namespace kvscope {

std::string reasonAgainstLength(const Decoder& decoder, const SweepRequest& request,
                                std::int64_t needed)
{
    const ModelConfig& config = decoder.config();
    if (config.hasLearnedPositions && needed > config.trainedPositions)
        return "needs " + formatCount(needed) + " positions, the model has learned " +
               formatCount(config.trainedPositions);
    if (request.contextLimit > 0 && needed > request.contextLimit)
        return "needs " + formatCount(needed) + " positions, " + formatCount(request.contextLimit) +
               " may be used";
    const MixedKVCache cache = decoder.makeCache(1, request.answerRoom);
    const std::uint64_t bytes = promptNeed(decoder, cache, needed, request.chunkTokens).total();
    const auto freeNow = request.freeMemoryBytes > 0 ? std::optional(request.freeMemoryBytes)
                                                     : readFreeMemory(decoder.device());
    if (freeNow && bytes > *freeNow)
        return "needs " + formatBytes(bytes) + ", " + formatBytes(*freeNow) + " are free";
    return {};
}

} // namespace kvscope
