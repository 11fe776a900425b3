#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"
#include "engine/checkpoint/architectures/layer_list.h"

#include <array>

namespace kvscope {
namespace {

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readCommonConfig(
        config, {.normEpsilon = 1e-5, .numKvHeads = 8, .rotaryBase = 1e6, .maxPositions = 131072});
    model.architecture = "mixtral";
    model.experts = MoEConfig{.numExperts = readNumExperts(config, 8),
                              .numActive = config.wholeNumber("num_experts_per_tok").value_or(2)};
    for (LayerConfig& layer : model.layers)
        layer.hasExperts = true;
    windowEveryLayer(readWindow(config, std::nullopt), model);
    return model;
}

ModelTensors bindHuggingFace(const ModelConfig& config, TensorBinder& binder)
{
    return bindDecoder(config, binder, [&](const std::string& prefix, std::int64_t) {
        const std::string experts = prefix + "block_sparse_moe.";
        LayerTensors layer;
        bindNorms(config, binder, prefix, {}, layer);
        bindAttention(config, binder, prefix + "self_attn.", layer);
        layer.router = bindLinear(binder, experts + "gate.", config.experts->numExperts,
                                  config.modelWidth, false);
        for (std::int64_t e = 0; e < config.experts->numExperts; ++e)
            layer.experts.push_back(
                bindNumberedExpert(config, binder, experts + "experts." + std::to_string(e) + "."));
        return layer;
    });
}

constexpr std::array<std::string_view, 1> kTypes = {"mixtral"};

} // namespace

/// Mixtral: Mistral with routed experts. Its GGUF files say "llama".
extern const Family kMixtral;
const Family kMixtral = {.huggingFaceTypes = kTypes,
                         .ggufArchitectures = {},
                         .readHuggingFace = readHuggingFace,
                         .bindHuggingFace = bindHuggingFace};

} // namespace kvscope
