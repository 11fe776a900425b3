#include "engine/checkpoint/architectures/llama.h"

#include <algorithm>

namespace kvscope {
namespace {

void refuseUnsupported(const ConfigObject& config)
{
    for (const char* key : {"attention_bias", "mlp_bias"})
        if (config.flag(key).value_or(false))
            config.fail(key, "is true; llama models with biases are not read by this version");
    if (const auto act = config.text("hidden_act"); act && *act != "silu")
        config.fail("hidden_act", "is " + *act + "; a llama model with silu was expected");
    if (config.has("quantization_config"))
        config.fail("quantization_config",
                    "says that the weights are quantised in a way this version "
                    "does not read; use the original weights or a GGUF file");
    if (config.number("partial_rotary_factor").value_or(1.0) != 1.0)
        config.fail("partial_rotary_factor",
                    "is not 1; partly rotated heads are not read by this version");
}

/// \param type  "default" or "linear"; anything else is refused
void readScheme(const ConfigObject& section, const std::string& type, RotaryConfig& rotary)
{
    if (type == "default")
        return;
    if (type != "linear")
        section.fail(section.has("rope_type") ? "rope_type" : "type",
                     "is " + type + "; default and linear are read by this version");
    rotary.scheme = RotaryScheme::Linear;
    rotary.scale = section.requireNumber("factor");
}

std::string ropeType(const ConfigObject& section)
{
    if (const auto type = section.text("rope_type"))
        return *type;
    return section.text("type").value_or("default"); // transformers before 4.43
}

} // namespace

ModelConfig readLlamaConfig(const ConfigObject& config)
{
    refuseUnsupported(config);
    ModelConfig model;
    model.architecture = "llama";
    model.vocabularySize = config.requireWholeNumber("vocab_size");
    model.modelWidth = config.requireWholeNumber("hidden_size");
    model.feedForwardDim = config.requireWholeNumber("intermediate_size");
    model.numHeads = config.requireWholeNumber("num_attention_heads");
    model.numKvHeads = config.wholeNumber("num_key_value_heads").value_or(model.numHeads);
    if (const auto headDim = config.wholeNumber("head_dim"))
        model.headDim = *headDim;
    else if (model.numHeads > 0 && model.modelWidth % model.numHeads == 0)
        model.headDim = model.modelWidth / model.numHeads;
    else
        config.fail("hidden_size", "is " + std::to_string(model.modelWidth) +
                                       ", not a multiple of the " + std::to_string(model.numHeads) +
                                       " num_attention_heads");
    model.normEpsilon = config.number("rms_norm_eps").value_or(1e-6);
    model.hasTiedHead = config.flag("tie_word_embeddings").value_or(false);

    const std::int64_t numLayers = config.requireWholeNumber("num_hidden_layers");
    if (numLayers < 1 || numLayers > 1024) // before anything is allocated on the file's word
        config.fail("num_hidden_layers",
                    "is " + std::to_string(numLayers) + "; 1 to 1024 was expected");
    model.layers.resize(static_cast<std::size_t>(numLayers));

    auto rope = config.section("rope_parameters");
    const bool isLegacy = !rope.has_value();
    if (isLegacy)
        rope = config.section("rope_scaling");
    model.rotary.base = config.number("rope_theta").value_or(10000.0);
    // Where a file does not say what it was extended from, its positions are taken as they are.
    model.extendedPositions = config.wholeNumber("max_position_embeddings").value_or(0);
    model.trainedPositions = model.extendedPositions;
    if (rope) {
        if (rope->number("partial_rotary_factor").value_or(1.0) != 1.0)
            rope->fail("partial_rotary_factor",
                       "is not 1; partly rotated heads are not read by this version");
        model.rotary.base = rope->number("rope_theta").value_or(model.rotary.base);
        readScheme(*rope, ropeType(*rope), model.rotary);
        if (const auto original = rope->wholeNumber("original_max_position_embeddings"))
            model.trainedPositions = std::min(*original, model.extendedPositions);
    }
    return model;
}

} // namespace kvscope
