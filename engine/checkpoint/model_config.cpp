#include "engine/checkpoint/model_config.h"

#include "engine/base/units.h"

#include <algorithm>

namespace kvscope {
namespace {

struct ParameterCount
{
    std::int64_t total = 0;
    std::int64_t unvisited = 0; ///< routed experts that one token does not go through
};

std::int64_t normParameters(const ModelConfig& config)
{
    return config.modelWidth * (config.norm == NormKind::Layer ? 2 : 1);
}

/// \param inner  F
std::int64_t feedForwardParameters(const ModelConfig& config, std::int64_t inner)
{
    const std::int64_t width = config.modelWidth;
    const std::int64_t numInner = config.isGated ? 2 : 1;
    return (numInner + 1) * width * inner +
           (config.hasFeedForwardBias ? numInner * inner + width : 0);
}

std::int64_t attentionParameters(const ModelConfig& config)
{
    const std::int64_t queries = config.numHeads * config.headDim;
    const std::int64_t keys = config.numKvHeads * config.headDim;
    std::int64_t count = 2 * config.modelWidth * (queries + keys);
    if (config.hasQueryKeyValueBias)
        count += queries + 2 * keys;
    if (config.hasOutputBias)
        count += config.modelWidth;
    if (config.queryKeyNorm == QueryKeyNorm::Head)
        count += 2 * config.headDim;
    if (config.queryKeyNorm == QueryKeyNorm::All)
        count += queries + keys;
    return count;
}

void addExperts(const ModelConfig& config, ParameterCount& count)
{
    const MoEConfig& experts = *config.experts;
    const std::int64_t routed = feedForwardParameters(config, config.expertDim());
    count.total += experts.numExperts * (config.modelWidth + (experts.hasRouterBias ? 1 : 0)) +
                   experts.numExperts * routed +
                   experts.numShared * feedForwardParameters(config, config.sharedExpertDim()) +
                   (experts.hasSharedGate ? config.modelWidth : 0);
    count.unvisited += (experts.numExperts - experts.numActive) * routed;
}

ParameterCount countParameters(const ModelConfig& config)
{
    const std::int64_t tables =
        (config.hasTiedHead ? 1 : 2) * config.vocabularySize * config.modelWidth +
        (config.hasLearnedPositions ? config.trainedPositions * config.modelWidth : 0);
    const std::int64_t norms =
        ((config.hasPreNorms ? 2 : 0) + (config.hasPostNorms ? 2 : 0)) * normParameters(config);
    ParameterCount count{.total = tables + normParameters(config)}; // and the last norm
    for (const LayerConfig& layer : config.layers) {
        count.total += attentionParameters(config) + norms + (layer.hasSink ? config.numHeads : 0);
        if (layer.hasExperts)
            addExperts(config, count);
        else
            count.total += feedForwardParameters(config, config.feedForwardDim);
    }
    return count;
}

} // namespace

std::int64_t ModelConfig::numLayers(LayerKind kind) const
{
    return std::count_if(layers.begin(), layers.end(),
                         [kind](const LayerConfig& layer) { return layer.kind == kind; });
}

std::int64_t ModelConfig::totalParameters() const
{
    return countParameters(*this).total;
}

std::int64_t ModelConfig::activeParameters() const
{
    const ParameterCount count = countParameters(*this);
    return count.total - count.unvisited;
}

std::string summary(const ModelConfig& config)
{
    std::string text =
        config.architecture + ": " + formatCount(config.totalParameters()) + " parameters";
    if (config.experts)
        text += " (" + formatCount(config.activeParameters()) + " active)";
    text += ", " + std::to_string(config.numLayers()) + " layers";
    if (const auto windowed = config.numLayers(LayerKind::Windowed); windowed > 0)
        text += " (" + std::to_string(windowed) + " windowed)";
    text += ", width " + formatCount(config.modelWidth) + ", " + std::to_string(config.numHeads) +
            " query and " + std::to_string(config.numKvHeads) + " key/value heads of " +
            std::to_string(config.headDim) + ", vocabulary " + formatCount(config.vocabularySize);
    return text;
}

} // namespace kvscope
