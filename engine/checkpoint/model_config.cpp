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

ParameterCount countParameters(const ModelConfig& config)
{
    const std::int64_t width = config.modelWidth;
    const std::int64_t expert = 3 * width * config.feedForwardDim;
    const std::int64_t attention =
        2 * width * config.headDim * (config.numHeads + config.numKvHeads);
    const std::int64_t tables = (config.hasTiedHead ? 1 : 2) * config.vocabularySize * width;
    ParameterCount count{.total = tables + width}; // and the last norm
    for (const LayerConfig& layer : config.layers) {
        count.total += attention + 2 * width + (layer.hasSink ? config.numHeads : 0);
        if (!config.experts) {
            count.total += expert;
            continue;
        }
        const MoEConfig& experts = *config.experts;
        count.total +=
            experts.numExperts * width + (experts.numExperts + experts.numShared) * expert;
        count.unvisited += (experts.numExperts - experts.numActive) * expert;
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
