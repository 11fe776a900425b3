#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"
#include "engine/checkpoint/architectures/qwen.h"

#include <array>

namespace kvscope {
namespace {

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readCommonConfig(config, {.numKvHeads = 4});
    model.architecture = "qwen3-moe";
    model.queryKeyNorm = QueryKeyNorm::Head;
    model.hasQueryKeyValueBias = config.flag("attention_bias").value_or(false);
    model.hasOutputBias = model.hasQueryKeyValueBias;
    // This family's windows are in every layer, unlike Qwen 3's.
    std::optional<std::int64_t> window;
    if (config.flag("use_sliding_window").value_or(false))
        window = config.wholeNumber("sliding_window").value_or(4096);
    readLayerKinds(
        config, window, [](std::int64_t) { return true; }, model);
    readQwenExperts(config, {}, model);
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
