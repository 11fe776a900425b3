#include "engine/checkpoint/architectures/hugging_face_config.h"

#include "engine/checkpoint/architectures/layer_list.h"
#include "engine/checkpoint/error_text.h"

namespace kvscope {
namespace {

void refuseQuantised(const ConfigObject& config)
{
    const auto section = config.section("quantization_config");
    if (section && section->text("quant_method").value_or("") != "mxfp4")
        config.fail("quantization_config",
                    "says that the weights are quantised in a way this version does not read; use "
                    "the original weights or a GGUF file");
}

std::int64_t readHeadDim(const ConfigObject& config, const ModelConfig& model,
                         std::int64_t otherwise)
{
    if (const auto headDim = config.wholeNumber("head_dim"))
        return *headDim;
    if (otherwise > 0 && !config.isNull("head_dim"))
        return otherwise;
    if (model.numHeads > 0 && model.modelWidth % model.numHeads == 0)
        return model.modelWidth / model.numHeads;
    config.fail("hidden_size", "is " + std::to_string(model.modelWidth) +
                                   ", not a multiple of the " + std::to_string(model.numHeads) +
                                   " num_attention_heads");
}

std::int64_t readNumKvHeads(const ConfigObject& config, const ModelConfig& model,
                            std::int64_t otherwise)
{
    constexpr std::string_view kKey = "num_key_value_heads";
    if (const auto count = config.wholeNumber(kKey))
        return *count;
    return otherwise > 0 && !config.isNull(kKey) ? otherwise : model.numHeads;
}

} // namespace

ModelConfig readCommonConfig(const ConfigObject& config, const HuggingFaceDefaults& defaults)
{
    refuseQuantised(config);
    ModelConfig model;
    model.vocabularySize = defaults.vocabularySize > 0
                               ? config.wholeNumber("vocab_size").value_or(defaults.vocabularySize)
                               : config.requireWholeNumber("vocab_size");
    model.modelWidth = config.requireWholeNumber("hidden_size");
    model.feedForwardDim = config.requireWholeNumber("intermediate_size");
    model.numHeads = defaults.numHeads > 0
                         ? config.wholeNumber("num_attention_heads").value_or(defaults.numHeads)
                         : config.requireWholeNumber("num_attention_heads");
    model.numKvHeads = readNumKvHeads(config, model, defaults.numKvHeads);
    model.headDim = readHeadDim(config, model, defaults.headDim);
    model.normEpsilon = config.number("rms_norm_eps").value_or(defaults.normEpsilon);
    model.hasTiedHead = config.flag("tie_word_embeddings").value_or(defaults.tiesHead);
    model.activation = readActivation(config, "hidden_act", Activation::Silu);
    constexpr std::string_view kLayersKey = "num_hidden_layers";
    model.layers = layersOf(config, kLayersKey, config.requireWholeNumber(kLayersKey));
    if (defaults.hasOwnRotations)
        return model;
    model.rotary = readRotary(config, defaults, model.headDim);
    readPositions(config, defaults, model);
    return model;
}

Activation readActivation(const ConfigObject& config, std::string_view key, Activation otherwise)
{
    const auto name = config.text(key);
    if (!name)
        return otherwise;
    if (*name == "silu" || *name == "swish")
        return Activation::Silu;
    if (*name == "gelu")
        return Activation::Gelu;
    if (*name == "gelu_new" || *name == "gelu_pytorch_tanh" || *name == "gelu_fast")
        return Activation::GeluTanh;
    config.fail(key, "is " + printable(*name) +
                         "; silu, gelu, gelu_new and gelu_pytorch_tanh are read by this version");
}

std::int64_t readNumExperts(const ConfigObject& config, std::int64_t otherwise)
{
    const auto alias = config.wholeNumber("num_experts");
    return alias ? *alias : config.wholeNumber("num_local_experts").value_or(otherwise);
}

std::optional<std::int64_t> readWindow(const ConfigObject& config,
                                       std::optional<std::int64_t> otherwise)
{
    constexpr std::string_view kKey = "sliding_window";
    return config.isStated(kKey) ? config.wholeNumber(kKey) : otherwise;
}

std::int64_t requireWindow(const ConfigObject& config, std::int64_t otherwise)
{
    if (const auto window = readWindow(config, otherwise))
        return *window;
    config.fail("sliding_window", "is null; this family's windowed layers need a number");
}

void readLayerKinds(const ConfigObject& config, std::optional<std::int64_t> window,
                    const std::function<bool(std::int64_t layer)>& isWindowed, ModelConfig& model)
{
    const auto types = config.texts("layer_types");
    if (types && types->size() != model.layers.size())
        config.fail("layer_types", "has " + std::to_string(types->size()) + " entries for " +
                                       std::to_string(model.layers.size()) + " layers");
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        bool windowed = window && isWindowed(static_cast<std::int64_t>(i));
        if (types) {
            const std::string& type = (*types)[i];
            windowed = type == "sliding_attention";
            if (!windowed && type != "full_attention")
                config.fail("layer_types", "has " + printable(type) +
                                               "; full_attention and sliding_attention are read "
                                               "by this version");
            if (windowed && !window)
                config.fail("layer_types", "has sliding_attention, but there is no sliding_window");
        }
        if (windowed) {
            model.layers[i].kind = LayerKind::Windowed;
            model.layers[i].window = *window;
        }
    }
}

} // namespace kvscope
