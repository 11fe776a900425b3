#include "engine/lab/sweep_room.h"

#include "engine/base/cuda_devices.h"
#include "engine/base/memory_reading.h"
#include "engine/base/units.h"
#include "engine/lab/prompt_room.h"

#include <algorithm>
#include <optional>

namespace kvscope {
namespace {

/// Nothing where it cannot be known.
std::optional<std::uint64_t> freeMemory(const Decoder& decoder, const SweepRequest& request)
{
    if (request.freeMemoryBytes > 0)
        return request.freeMemoryBytes;
    if (decoder.device().is_cpu())
        return readFreeHostMemory();
    for (const CudaDevice& device : readCudaDevices())
        if (device.index == std::max<int>(0, decoder.device().index()))
            return device.freeBytes;
    return std::nullopt;
}

} // namespace

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
    const auto freeNow = freeMemory(decoder, request);
    if (freeNow && bytes > *freeNow)
        return "needs " + formatBytes(bytes) + ", " + formatBytes(*freeNow) + " are free";
    return {};
}

} // namespace kvscope
