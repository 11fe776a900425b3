#include "engine/lab/compute_costs.h"

#include "engine/lab/memory_costs.h"

#include <algorithm>

namespace kvscope {

std::int64_t attentionWidth(const ModelConfig& config)
{
    return config.numHeads * config.headDim;
}

std::int64_t lookupParameters(const ModelConfig& config)
{
    std::int64_t count = 0;
    if (!config.hasTiedHead)
        count += config.vocabularySize * config.modelWidth;
    if (config.hasLearnedPositions)
        count += config.trainedPositions * config.modelWidth;
    return count;
}

std::int64_t multipliedParameters(const ModelConfig& config)
{
    return config.activeParameters() - lookupParameters(config);
}

PrefillFlops prefillFlops(const ModelConfig& config, std::int64_t tokens)
{
    const auto count = static_cast<double>(tokens);
    const auto width = static_cast<double>(attentionWidth(config));
    const double triangle = 2.0 * width * count * count;
    PrefillFlops flops;
    flops.dense = 2.0 * static_cast<double>(multipliedParameters(config)) * count;
    for (const LayerConfig& layer : config.layers) {
        if (layer.kind == LayerKind::Global)
            flops.globalAttention += triangle;
        else
            flops.windowedAttention +=
                std::min(triangle, 4.0 * width * static_cast<double>(layer.window) * count);
    }
    return flops;
}

std::optional<double> crossoverTokens(const ModelConfig& config, MaskedWork masked)
{
    const std::int64_t numQuadratic =
        masked == MaskedWork::Done ? config.numLayers() : config.numLayers(LayerKind::Global);
    if (numQuadratic == 0)
        return std::nullopt;
    return static_cast<double>(multipliedParameters(config)) /
           static_cast<double>(numQuadratic * attentionWidth(config));
}

DecodeCost decodeCost(const ModelConfig& config, std::int64_t cachedTokens,
                      std::uint64_t weightBytes, const CacheNumbers& numbers)
{
    DecodeCost cost;
    cost.weightBytes = weightBytes;
    cost.cacheBytes = kvBytes(config, cachedTokens, numbers).total();
    cost.flops = 2.0 * static_cast<double>(multipliedParameters(config)) +
                 cacheIntensity(config, numbers) * static_cast<double>(cost.cacheBytes);
    return cost;
}

double cacheIntensity(const ModelConfig& config, const CacheNumbers& numbers)
{
    return 4.0 * static_cast<double>(config.numHeads * config.headDim) /
           static_cast<double>(config.cacheBytesPerToken(numbers));
}

ProjectionFlops projectionFlops(const ModelConfig& config, std::int64_t tokens)
{
    const auto count = static_cast<double>(tokens);
    const double perToken = 2.0 * static_cast<double>(config.modelWidth) * 2.0 *
                            static_cast<double>(config.numKvHeads * config.headDim) *
                            static_cast<double>(config.numLayers());
    return {.cached = perToken * count, .recomputed = perToken * count * (count + 1.0) / 2.0};
}

} // namespace kvscope
