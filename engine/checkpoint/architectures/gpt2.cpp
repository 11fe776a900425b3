#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"
#include "engine/checkpoint/architectures/layer_list.h"

#include <array>

namespace kvscope {
namespace {

/// What is the same for every GPT-2, however it is stored.
void setShape(ModelConfig& model)
{
    model.architecture = "gpt2";
    model.norm = NormKind::Layer;
    model.isGated = false;
    model.hasLearnedPositions = true;
    model.hasQueryKeyValueBias = true;
    model.hasOutputBias = true;
    model.hasFeedForwardBias = true;
    model.trainedPositions = model.extendedPositions;
    for (LayerConfig& layer : model.layers)
        layer.isRotated = false;
}

void refuseVariants(const ConfigObject& config)
{
    for (const char* key : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"})
        if (config.flag(key).value_or(false))
            config.fail(key, "is true, which is not read by this version");
    if (!config.flag("scale_attn_weights").value_or(true))
        config.fail("scale_attn_weights", "is false, which is not read by this version");
}

ModelConfig readHuggingFace(const ConfigObject& config)
{
    refuseVariants(config);
    ModelConfig model;
    model.vocabularySize = config.requireWholeNumber("vocab_size");
    model.modelWidth = config.requireWholeNumber("n_embd");
    model.numHeads = config.requireWholeNumber("n_head");
    model.numKvHeads = model.numHeads;
    if (model.numHeads < 1 || model.modelWidth % model.numHeads != 0)
        config.fail("n_embd", "is " + std::to_string(model.modelWidth) +
                                  ", not a multiple of the " + std::to_string(model.numHeads) +
                                  " heads");
    model.headDim = model.modelWidth / model.numHeads;
    model.feedForwardDim = config.wholeNumber("n_inner").value_or(4 * model.modelWidth);
    model.normEpsilon = config.number("layer_norm_epsilon").value_or(1e-5);
    model.hasTiedHead = config.flag("tie_word_embeddings").value_or(true);
    model.activation = readActivation(config, "activation_function", Activation::GeluTanh);
    model.extendedPositions =
        config.wholeNumber("n_positions").value_or(config.wholeNumber("n_ctx").value_or(1024));
    model.layers = layersOf(config, "n_layer", config.requireWholeNumber("n_layer"));
    setShape(model);
    return model;
}

/// GPT-2 keeps its linear weights as [in, out].
LinearTensors bindTransposed(TensorBinder& binder, const std::string& prefix, std::int64_t out,
                             std::int64_t in)
{
    return {.weight = binder.matrix(prefix + "weight", in, out).transposed(),
            .bias = binder.vector(prefix + "bias", out)};
}

LayerTensors bindLayer(const ModelConfig& config, TensorBinder& binder, const std::string& prefix)
{
    const std::int64_t width = config.modelWidth;
    LayerTensors layer;
    layer.attentionNorm = bindNorm(config, binder, prefix + "ln_1");
    layer.feedForwardNorm = bindNorm(config, binder, prefix + "ln_2");
    const LinearTensors fused = bindTransposed(binder, prefix + "attn.c_attn.", 3 * width, width);
    layer.query = partOf(fused, 0, width);
    layer.key = partOf(fused, width, width);
    layer.value = partOf(fused, 2 * width, width);
    layer.output = bindTransposed(binder, prefix + "attn.c_proj.", width, width);
    layer.dense.up = bindTransposed(binder, prefix + "mlp.c_fc.", config.feedForwardDim, width);
    layer.dense.down = bindTransposed(binder, prefix + "mlp.c_proj.", width, config.feedForwardDim);
    return layer;
}

/// The first files have no "transformer." and carry their masks along.
ModelTensors bindHuggingFace(const ModelConfig& config, TensorBinder& binder)
{
    const std::string model = binder.has("wte.weight") ? "" : "transformer.";
    binder.ignoreEndingWith(".attn.bias");
    binder.ignoreEndingWith(".attn.masked_bias");
    ModelTensors tensors;
    tensors.embedding =
        binder.matrix(model + "wte.weight", config.vocabularySize, config.modelWidth);
    tensors.positions =
        binder.matrix(model + "wpe.weight", config.trainedPositions, config.modelWidth);
    tensors.finalNorm = bindNorm(config, binder, model + "ln_f");
    if (config.hasTiedHead)
        binder.ignore("lm_head.weight");
    else
        tensors.head =
            bindLinear(binder, "lm_head.", config.vocabularySize, config.modelWidth, false);
    for (std::int64_t i = 0; i < config.numLayers(); ++i)
        tensors.layers.push_back(bindLayer(config, binder, model + "h." + std::to_string(i) + "."));
    binder.finish("a gpt2 model of " + std::to_string(config.numLayers()) + " layers");
    return tensors;
}

ModelConfig readGguf(const GgufFile& file)
{
    ModelConfig model = readCommonGguf(GgufSection(file), "attention.layer_norm_epsilon");
    model.activation = Activation::GeluTanh;
    setShape(model);
    return model;
}

constexpr std::array<std::string_view, 1> kNames = {"gpt2"};

} // namespace

/// GPT-2: learned positions, LayerNorm, GELU, biases everywhere.
extern const Family kGpt2;
const Family kGpt2 = {.huggingFaceTypes = kNames,
                      .ggufArchitectures = kNames,
                      .readHuggingFace = readHuggingFace,
                      .bindHuggingFace = bindHuggingFace,
                      .readGguf = readGguf};

} // namespace kvscope
