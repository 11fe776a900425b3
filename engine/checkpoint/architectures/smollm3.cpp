#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"

#include <array>

namespace kvscope {
namespace {

constexpr std::int64_t kInterval = 4; ///< every fourth layer does not rotate

void readRotatedLayers(const ConfigObject& config, ModelConfig& model)
{
    const std::int64_t interval = config.wholeNumber("no_rope_layer_interval").value_or(kInterval);
    if (interval < 1)
        config.fail("no_rope_layer_interval", "is not above 0");
    // Despite its name the list says 1 where a layer does rotate.
    const auto rotated = config.numbers("no_rope_layers");
    if (rotated && rotated->size() != model.layers.size())
        config.fail("no_rope_layers", "has " + std::to_string(rotated->size()) + " entries for " +
                                          std::to_string(model.layers.size()) + " layers");
    for (std::size_t i = 0; i < model.layers.size(); ++i)
        model.layers[i].isRotated =
            rotated ? (*rotated)[i] != 0.0 : (static_cast<std::int64_t>(i) + 1) % interval != 0;
}

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readCommonConfig(
        config, {.tiesHead = true, .numKvHeads = 4, .rotaryBase = 2e6, .maxPositions = 32768});
    model.architecture = "smollm3";
    model.hasQueryKeyValueBias = config.flag("attention_bias").value_or(false);
    model.hasOutputBias = model.hasQueryKeyValueBias;
    model.hasFeedForwardBias = config.flag("mlp_bias").value_or(false);
    readRotatedLayers(config, model);
    std::optional<std::int64_t> window;
    if (config.flag("use_sliding_window").value_or(false))
        window = config.wholeNumber("sliding_window");
    readLayerKinds(
        config, window,
        [&](std::int64_t layer) {
            return !model.layers[static_cast<std::size_t>(layer)].isRotated;
        },
        model);
    return model;
}

/// Query and key rows are permuted for adjacent pairs, as in llama's files.
ModelConfig readGguf(const GgufFile& file)
{
    ModelConfig model = readCommonGguf(GgufSection(file));
    model.architecture = "smollm3";
    model.rotary.pairing = RotaryPairing::Adjacent;
    for (std::size_t i = 0; i < model.layers.size(); ++i)
        model.layers[i].isRotated = (static_cast<std::int64_t>(i) + 1) % kInterval != 0;
    return model;
}

constexpr std::array<std::string_view, 1> kNames = {"smollm3"};

} // namespace

/// SmolLM3: llama of which every fourth layer has no rotation.
extern const Family kSmolLm3;
const Family kSmolLm3 = {.huggingFaceTypes = kNames,
                         .ggufArchitectures = kNames,
                         .readHuggingFace = readHuggingFace,
                         .bindHuggingFace = bindLlamaLike,
                         .readGguf = readGguf};

} // namespace kvscope
