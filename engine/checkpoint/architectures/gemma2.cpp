#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gemma_common.h"

#include <array>
#include <cmath>

namespace kvscope {
namespace {

constexpr std::int64_t kWindow = 4096;
constexpr double kScoreCap = 50.0;
constexpr double kLogitCap = 30.0;

bool isWindowed(std::int64_t layer)
{
    return layer % 2 == 0;
}

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readGemmaConfig(
        config, {.tiesHead = true, .numKvHeads = 4, .headDim = 256, .maxPositions = 8192});
    model.architecture = "gemma2";
    model.hasPostNorms = true;
    model.attentionScale = 1.0 / std::sqrt(config.number("query_pre_attn_scalar").value_or(256.0));
    const auto cap = [&](const char* key, double otherwise) { // null switches it off
        return config.isStated(key) ? config.number(key).value_or(0.0) : otherwise;
    };
    model.attentionSoftCap = cap("attn_logit_softcapping", kScoreCap);
    model.finalSoftCap = cap("final_logit_softcapping", kLogitCap);
    readLayerKinds(config, requireWindow(config, kWindow), isWindowed, model);
    return model;
}

ModelTensors bindHuggingFace(const ModelConfig& config, TensorBinder& binder)
{
    return bindDecoder(config, binder, [&](const std::string& prefix, std::int64_t) {
        return bindSandwichLayer(config, binder, prefix);
    });
}

ModelConfig readGguf(const GgufFile& file)
{
    const GgufSection section(file);
    ModelConfig model = readGemmaGguf(section);
    model.architecture = "gemma2";
    model.hasPostNorms = true;
    setScaleOf27B(46, model);
    model.attentionSoftCap = section.number("attn_logit_softcapping").value_or(kScoreCap);
    model.finalSoftCap = section.number("final_logit_softcapping").value_or(kLogitCap);
    readGgufWindows(section, isWindowed, model, kWindow); // the first files do not say it
    return model;
}

constexpr std::array<std::string_view, 1> kNames = {"gemma2"};

} // namespace

/// Gemma 2: soft caps, every other layer windowed, norms before and after.
extern const Family kGemma2;
const Family kGemma2 = {.huggingFaceTypes = kNames,
                        .ggufArchitectures = kNames,
                        .readHuggingFace = readHuggingFace,
                        .bindHuggingFace = bindHuggingFace,
                        .readGguf = readGguf};

} // namespace kvscope
