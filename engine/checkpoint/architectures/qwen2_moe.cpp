#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"
#include "engine/checkpoint/architectures/qwen.h"

#include <array>

namespace kvscope {
namespace {

/// Unlike Qwen 2's: every other layer of the first max_window_layers.
void readWindows(const ConfigObject& config, ModelConfig& model)
{
    std::optional<std::int64_t> window;
    if (config.flag("use_sliding_window").value_or(false))
        window = requireWindow(config, 4096);
    const std::int64_t end = config.wholeNumber("max_window_layers").value_or(28);
    readLayerKinds(
        config, window, [end](std::int64_t layer) { return (layer + 1) % 2 != 0 && layer < end; },
        model);
}

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readCommonConfig(config, {.numKvHeads = 16, .maxPositions = 32768});
    model.architecture = "qwen2-moe";
    model.hasQueryKeyValueBias = config.flag("qkv_bias").value_or(true);
    readWindows(config, model);
    MoEConfig experts;
    experts.numExperts = config.wholeNumber("num_experts").value_or(60);
    experts.numActive = 4;
    experts.expertDim = 1408;
    experts.numShared = 1;
    experts.sharedDim = config.wholeNumber("shared_expert_intermediate_size").value_or(5632);
    experts.hasSharedGate = true;
    readQwenExperts(config, experts, model);
    return model;
}

ModelTensors bindHuggingFace(const ModelConfig& config, TensorBinder& binder)
{
    return bindDecoder(config, binder, [&](const std::string& prefix, std::int64_t index) {
        const std::string inner = prefix + "mlp.";
        LayerTensors layer;
        bindNorms(config, binder, prefix, {}, layer);
        bindAttention(config, binder, prefix + "self_attn.", layer);
        if (!config.layers[static_cast<std::size_t>(index)].hasExperts) {
            layer.dense = bindFeedForward(config, binder, inner, config.feedForwardDim);
            return layer;
        }
        bindExperts(config, binder, inner, layer);
        layer.sharedExperts.push_back(
            bindFeedForward(config, binder, inner + "shared_expert.", config.sharedExpertDim()));
        layer.sharedGate = binder.matrix(inner + "shared_expert_gate.weight", 1, config.modelWidth);
        return layer;
    });
}

ModelConfig readGguf(const GgufFile& file)
{
    const GgufSection section(file);
    ModelConfig model = readCommonGguf(section);
    model.architecture = "qwen2-moe";
    if (model.experts) {
        model.experts->hasSharedGate = model.experts->numShared > 0;
        model.experts->normalisesWeights = section.flag("expert_weights_norm").value_or(false);
    }
    return model;
}

constexpr std::array<std::string_view, 1> kTypes = {"qwen2_moe"};
constexpr std::array<std::string_view, 1> kGgufNames = {"qwen2moe"};

} // namespace

/// Qwen 1.5 and 2 with routed experts and a gated shared one.
extern const Family kQwen2Moe;
const Family kQwen2Moe = {.huggingFaceTypes = kTypes,
                          .ggufArchitectures = kGgufNames,
                          .readHuggingFace = readHuggingFace,
                          .bindHuggingFace = bindHuggingFace,
                          .readGguf = readGguf};

} // namespace kvscope
