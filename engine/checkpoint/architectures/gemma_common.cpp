#include "engine/checkpoint/architectures/gemma_common.h"

#include <cmath>

namespace kvscope {

ModelConfig readGemmaConfig(const ConfigObject& config, const HuggingFaceDefaults& defaults)
{
    ModelConfig model = readCommonConfig(config, defaults);
    // Gemma 1's files say "gelu" in hidden_act and mean the approximation.
    model.activation = readActivation(config, "hidden_activation", Activation::GeluTanh);
    model.addsOneToGains = true;
    model.embeddingScale = std::sqrt(static_cast<double>(model.modelWidth));
    model.hasQueryKeyValueBias = config.flag("attention_bias").value_or(false);
    model.hasOutputBias = model.hasQueryKeyValueBias;
    return model;
}

ModelConfig readGemmaGguf(const GgufSection& section)
{
    ModelConfig model = readCommonGguf(section);
    model.activation = Activation::GeluTanh;
    model.embeddingScale = std::sqrt(static_cast<double>(model.modelWidth));
    return model;
}

LayerTensors bindSandwichLayer(const ModelConfig& config, TensorBinder& binder,
                               const std::string& prefix)
{
    LayerTensors layer;
    bindNorms(config, binder, prefix, {.feedForward = "pre_feedforward_layernorm"}, layer);
    bindAttention(config, binder, prefix + "self_attn.", layer);
    layer.dense = bindFeedForward(config, binder, prefix + "mlp.", config.feedForwardDim);
    return layer;
}

} // namespace kvscope
