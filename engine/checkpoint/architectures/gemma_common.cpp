#include "engine/checkpoint/architectures/gemma_common.h"

#include <cmath>

namespace kvscope {

ModelConfig readGemmaConfig(const ConfigObject& config, const HuggingFaceDefaults& defaults,
                            std::string_view activationKey)
{
    if (config.flag("use_bidirectional_attention").value_or(false))
        config.fail("use_bidirectional_attention", "is true; kvscope runs causal models");
    ModelConfig model = readCommonConfig(config, defaults);
    model.activation = readActivation(config, activationKey, Activation::GeluTanh);
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

void setScaleOf27B(std::int64_t numLayersOf27B, ModelConfig& model)
{
    if (model.numLayers() == numLayersOf27B && model.numHeads > 0)
        model.attentionScale =
            std::sqrt(static_cast<double>(model.numHeads) / static_cast<double>(model.modelWidth));
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
