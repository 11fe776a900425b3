#include "engine/train/training_shape.h"

#include "engine/base/errors.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace kvscope {
namespace {

constexpr std::int64_t kMaxLayers = 1024;
constexpr double kMaxExtension = 1e6; // what ModelConfig's own limits allow

RotaryConfig rotaryOf(const TrainingShape& shape)
{
    RotaryConfig rotary;
    rotary.pairing = RotaryPairing::Adjacent;
    rotary.base = shape.ropeBase;
    rotary.scheme = GptOssLiteRotary{.factor = shape.yarnScale,
                                     .originalPositions = shape.trainedLength,
                                     .betaFast = shape.yarnBetaFast,
                                     .betaSlow = shape.yarnBetaSlow,
                                     .hasMscale = true};
    return rotary;
}

std::vector<LayerConfig> layersOf(const TrainingShape& shape)
{
    std::vector<LayerConfig> layers(static_cast<std::size_t>(shape.layers));
    for (std::size_t i = 0; i < layers.size(); ++i) {
        layers[i].hasSink = true;
        layers[i].hasExperts = true;
        if (i % 2 == 0) {
            layers[i].kind = LayerKind::Windowed;
            layers[i].window = shape.window;
        } else {
            layers[i].identityPairs = shape.headDim / 4;
        }
    }
    return layers;
}

/// What must hold before anything is computed of the shape.
void checkExtents(const TrainingShape& shape)
{
    if (shape.layers < 1 || shape.layers > kMaxLayers)
        throw ArgumentError("a model of " + std::to_string(shape.layers) +
                            " layers cannot be trained; 1 to " + std::to_string(kMaxLayers) +
                            " was expected");
    if (shape.trainedLength < 1 || shape.trainedLength > (std::int64_t{1} << 40))
        throw ArgumentError("a trained length of " + std::to_string(shape.trainedLength) +
                            " tokens is not one that a model can have");
    if (!(shape.yarnScale >= 1.0 && shape.yarnScale <= kMaxExtension))
        throw ArgumentError("YaRN extends by a factor of 1 to " +
                            std::to_string(static_cast<std::int64_t>(kMaxExtension)) + ", not by " +
                            std::to_string(shape.yarnScale));
}

} // namespace

ModelConfig modelConfig(const TrainingShape& shape)
{
    checkExtents(shape);
    ModelConfig config;
    config.architecture = "gpt-oss-lite";
    config.vocabularySize = shape.vocabulary;
    config.modelWidth = shape.width;
    config.numHeads = shape.heads;
    config.numKvHeads = shape.kvHeads;
    config.headDim = shape.headDim;
    config.feedForwardDim = shape.expertDim;
    config.hasTiedHead = true;
    config.experts = MoEConfig{.numExperts = shape.experts,
                               .numActive = shape.activeExperts,
                               .numShared = shape.sharedExperts};
    config.clampsSinks = true;
    config.rotary = rotaryOf(shape);
    config.layers = layersOf(shape);
    config.trainedPositions = shape.trainedLength;
    config.extendedPositions =
        std::max(shape.trainedLength,
                 static_cast<std::int64_t>(
                     std::llround(static_cast<double>(shape.trainedLength) * shape.yarnScale)));
    try {
        validate(config, "the shape to train");
    } catch (const CheckpointError& error) {
        throw ArgumentError(error.what());
    }
    return config;
}

} // namespace kvscope
