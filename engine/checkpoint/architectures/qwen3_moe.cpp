#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"
#include "engine/checkpoint/architectures/layer_list.h"
#include "engine/checkpoint/architectures/qwen.h"

#include <array>

namespace kvscope {
namespace {

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readCommonConfig(config, {.numKvHeads = 4, .maxPositions = 32768});
    model.architecture = "qwen3-moe";
    model.queryKeyNorm = QueryKeyNorm::Head;
    model.hasQueryKeyValueBias = config.flag("attention_bias").value_or(false);
    model.hasOutputBias = model.hasQueryKeyValueBias;
    // This family's windows are in every layer, unlike Qwen 3's.
    if (config.flag("use_sliding_window").value_or(false))
        windowEveryLayer(readWindow(config, 4096), model);
    MoEConfig experts;
    // Of the key's two names this class takes the other one first.
    const auto count = config.wholeNumber("num_local_experts");
    experts.numExperts = count ? *count : config.wholeNumber("num_experts").value_or(128);
    experts.numActive = 8;
    experts.expertDim = 768;
    readQwenExperts(config, experts, model);
    return model;
}

ModelConfig readGguf(const GgufFile& file)
{
    ModelConfig model = readCommonGguf(GgufSection(file));
    model.architecture = "qwen3-moe";
    return model;
}

constexpr std::array<std::string_view, 1> kTypes = {"qwen3_moe"};
constexpr std::array<std::string_view, 1> kGgufNames = {"qwen3moe"};

} // namespace

/// Qwen 3 with routed experts.
extern const Family kQwen3Moe;
const Family kQwen3Moe = {.huggingFaceTypes = kTypes,
                          .ggufArchitectures = kGgufNames,
                          .readHuggingFace = readHuggingFace,
                          .bindHuggingFace = bindLlamaLike,
                          .readGguf = readGguf};

} // namespace kvscope
