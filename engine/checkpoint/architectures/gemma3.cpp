#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gemma_common.h"

#include <array>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kGlobalBase = 1e6;
constexpr double kLocalBase = 1e4;
constexpr std::int64_t kPattern = 6; ///< one global layer after five windowed ones

/// The multimodal checkpoints nest the text model's settings and prefix its tensors.
ConfigObject textConfig(const ConfigObject& config)
{
    return config.section("text_config").value_or(config);
}

/// A part of `rope_parameters`, which is nested by kinds of layers; what stands beside these in it
/// does not count.
ConfigObject rotarySectionOf(const ConfigObject& config, std::string_view kind)
{
    const auto nested = config.section("rope_parameters");
    auto section = nested ? nested->section(kind) : std::nullopt;
    return section ? *std::move(section) : ConfigObject(nlohmann::json::object(), config.file());
}

/// A `rope_scaling` beside it goes over the global layers' keys, one by one. Source: transformers
/// 5.23, Gemma3TextConfig.convert_rope_params_to_dict.
void readRotations(const ConfigObject& config, HuggingFaceDefaults defaults, ModelConfig& model)
{
    ConfigObject global = rotarySectionOf(config, "full_attention");
    if (const auto scaling = config.section("rope_scaling"))
        global = global.mergedWith(*scaling);
    defaults.rotaryBase = config.number("rope_theta").value_or(kGlobalBase);
    model.rotary = readRotarySection(config, global, defaults, model.headDim);
    readPositions(config, defaults, model);
    defaults.rotaryBase = config.number("rope_local_base_freq").value_or(kLocalBase);
    model.windowedRotary = readRotarySection(config, rotarySectionOf(config, "sliding_attention"),
                                             defaults, model.headDim);
}

ModelConfig readHuggingFace(const ConfigObject& file)
{
    const ConfigObject config = textConfig(file);
    constexpr HuggingFaceDefaults kDefaults = {.tiesHead = true,
                                               .numHeads = 8,
                                               .numKvHeads = 4,
                                               .headDim = 256,
                                               .vocabularySize = 262208,
                                               .maxPositions = 131072,
                                               .hasOwnRotations = true};
    ModelConfig model = readGemmaConfig(config, kDefaults);
    model.architecture = "gemma3";
    model.hasPostNorms = true;
    model.queryKeyNorm = QueryKeyNorm::Head;
    model.attentionScale = 1.0 / std::sqrt(config.number("query_pre_attn_scalar").value_or(256.0));
    model.attentionSoftCap = config.number("attn_logit_softcapping").value_or(0.0);
    model.finalSoftCap = config.number("final_logit_softcapping").value_or(0.0);
    const std::int64_t pattern = config.wholeNumber("sliding_window_pattern").value_or(kPattern);
    if (pattern < 1)
        config.fail("sliding_window_pattern", "is not above 0");
    readLayerKinds(
        config, requireWindow(config, 4096),
        [pattern](std::int64_t layer) { return (layer + 1) % pattern != 0; }, model);
    readRotations(config, kDefaults, model);
    return model;
}

ModelTensors bindHuggingFace(const ModelConfig& config, TensorBinder& binder)
{
    std::string prefix;
    if (binder.has("language_model.model.embed_tokens.weight")) {
        prefix = "language_model.";
        binder.ignoreStartingWith("vision_tower.");
        binder.ignoreStartingWith("multi_modal_projector.");
    }
    return bindDecoder(
        config, binder,
        [&](const std::string& layer, std::int64_t) {
            return bindSandwichLayer(config, binder, layer);
        },
        prefix);
}

ModelConfig readGguf(const GgufFile& file)
{
    const GgufSection section(file);
    ModelConfig model = readGemmaGguf(section);
    model.architecture = "gemma3";
    model.hasPostNorms = true;
    setScaleOf27B(62, model);
    model.finalSoftCap = section.number("final_logit_softcapping").value_or(0.0);
    model.windowedRotary = RotaryConfig{};
    model.windowedRotary->base = section.number("rope.freq_base_swa").value_or(kLocalBase);
    model.rotary.base = section.number("rope.freq_base").value_or(kGlobalBase);
    const std::int64_t pattern =
        section.count("attention.sliding_window_pattern").value_or(kPattern);
    if (pattern < 1)
        section.fail("attention.sliding_window_pattern", "is not above 0");
    readGgufWindows(
        section, [pattern](std::int64_t layer) { return (layer + 1) % pattern != 0; }, model);
    return model;
}

constexpr std::array<std::string_view, 2> kTypes = {"gemma3", "gemma3_text"};
constexpr std::array<std::string_view, 1> kGgufNames = {"gemma3"};

} // namespace

/// Gemma 3's text model: a window pattern, query/key norms, a rotation each for windowed and global
/// layers.
extern const Family kGemma3;
const Family kGemma3 = {.huggingFaceTypes = kTypes,
                        .ggufArchitectures = kGgufNames,
                        .readHuggingFace = readHuggingFace,
                        .bindHuggingFace = bindHuggingFace,
                        .readGguf = readGguf};

} // namespace kvscope
