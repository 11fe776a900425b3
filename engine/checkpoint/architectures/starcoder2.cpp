#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"
#include "engine/checkpoint/architectures/layer_list.h"

#include <array>

namespace kvscope {
namespace {

/// What is the same for every StarCoder2, however it is stored.
void setShape(ModelConfig& model)
{
    model.architecture = "starcoder2";
    model.norm = NormKind::Layer;
    model.isGated = false;
}

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model =
        readCommonConfig(config, {.tiesHead = true, .numKvHeads = 2, .maxPositions = 4096});
    setShape(model);
    model.normEpsilon = config.number("norm_epsilon").value_or(1e-5);
    model.activation = readActivation(config, "hidden_act", Activation::GeluTanh);
    model.hasQueryKeyValueBias = config.flag("use_bias").value_or(true);
    model.hasOutputBias = model.hasQueryKeyValueBias;
    model.hasFeedForwardBias = model.hasQueryKeyValueBias;
    windowEveryLayer(readWindow(config, std::nullopt), model);
    return model;
}

ModelTensors bindHuggingFace(const ModelConfig& config, TensorBinder& binder)
{
    return bindDecoder(config, binder, [&](const std::string& prefix, std::int64_t) {
        const std::int64_t width = config.modelWidth;
        const std::int64_t inner = config.feedForwardDim;
        const bool hasBias = config.hasFeedForwardBias;
        LayerTensors layer;
        bindNorms(config, binder, prefix, {}, layer);
        bindAttention(config, binder, prefix + "self_attn.", layer);
        layer.dense.up = bindLinear(binder, prefix + "mlp.c_fc.", inner, width, hasBias);
        layer.dense.down = bindLinear(binder, prefix + "mlp.c_proj.", width, inner, hasBias);
        return layer;
    });
}

ModelConfig readGguf(const GgufFile& file)
{
    ModelConfig model = readCommonGguf(GgufSection(file), "attention.layer_norm_epsilon");
    setShape(model);
    model.activation = Activation::GeluTanh;
    return model;
}

constexpr std::array<std::string_view, 1> kNames = {"starcoder2"};

} // namespace

/// StarCoder2: llama's attention with LayerNorm, biases and an ungated GELU.
extern const Family kStarCoder2;
const Family kStarCoder2 = {.huggingFaceTypes = kNames,
                            .ggufArchitectures = kNames,
                            .readHuggingFace = readHuggingFace,
                            .bindHuggingFace = bindHuggingFace,
                            .readGguf = readGguf};

} // namespace kvscope
