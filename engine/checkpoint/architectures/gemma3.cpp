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

void readRotations(const ConfigObject& config, ModelConfig& model)
{
    const auto nested = config.section("rope_parameters");
    const auto global = nested ? nested->section("full_attention") : std::nullopt;
    const auto local = nested ? nested->section("sliding_attention") : std::nullopt;
    model.rotary = global ? readRotarySection(config, *global, kGlobalBase, model.headDim)
                          : readRotary(config, kGlobalBase, model.headDim);
    if (local) {
        model.windowedRotary = readRotarySection(config, *local, kLocalBase, model.headDim);
        return;
    }
    model.windowedRotary = RotaryConfig{};
    model.windowedRotary->base = config.number("rope_local_base_freq").value_or(kLocalBase);
}

ModelConfig readHuggingFace(const ConfigObject& file)
{
    const ConfigObject config = textConfig(file);
    ModelConfig model = readGemmaConfig(config, {.tiesHead = true,
                                                 .numHeads = 8,
                                                 .numKvHeads = 4,
                                                 .headDim = 256,
                                                 .rotaryBase = kGlobalBase,
                                                 .vocabularySize = 262208});
    model.architecture = "gemma3";
    model.hasPostNorms = true;
    model.queryKeyNorm = QueryKeyNorm::Head;
    model.attentionScale = 1.0 / std::sqrt(config.number("query_pre_attn_scalar").value_or(256.0));
    model.attentionSoftCap = config.number("attn_logit_softcapping").value_or(0.0);
    model.finalSoftCap = config.number("final_logit_softcapping").value_or(0.0);
    if (config.flag("use_bidirectional_attention").value_or(false))
        config.fail("use_bidirectional_attention", "is true; kvscope runs causal models");
    std::int64_t pattern = kPattern;
    for (const char* key : {"_sliding_window_pattern", "sliding_window_pattern"})
        pattern = config.wholeNumber(key).value_or(pattern);
    if (pattern < 1)
        config.fail("sliding_window_pattern", "is not above 0");
    readLayerKinds(
        config, config.wholeNumber("sliding_window").value_or(4096),
        [pattern](std::int64_t layer) { return (layer + 1) % pattern != 0; }, model);
    readRotations(config, model);
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
    // The file does not say it; the 27B model alone divides by sqrt(E / H) (llama.cpp does so too).
    if (model.numLayers() == 62 && model.numHeads > 0)
        model.attentionScale =
            std::sqrt(static_cast<double>(model.numHeads) / static_cast<double>(model.modelWidth));
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
