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
    ModelConfig model =
        readCommonConfig(config, {.numKvHeads = 32, .headDim = 128, .maxPositions = 32768});
    model.architecture = "qwen3";
    model.queryKeyNorm = QueryKeyNorm::Head;
    model.hasQueryKeyValueBias = config.flag("attention_bias").value_or(false);
    model.hasOutputBias = model.hasQueryKeyValueBias;
    readQwenWindows(config, model);
    return model;
}

ModelConfig readGguf(const GgufFile& file)
{
    ModelConfig model = readCommonGguf(GgufSection(file));
    model.architecture = "qwen3";
    return model;
}

constexpr std::array<std::string_view, 1> kNames = {"qwen3"};

} // namespace

/// Qwen 3: llama with every query and key head normalised.
extern const Family kQwen3;
const Family kQwen3 = {.huggingFaceTypes = kNames,
                       .ggufArchitectures = kNames,
                       .readHuggingFace = readHuggingFace,
                       .bindHuggingFace = bindLlamaLike,
                       .readGguf = readGguf};

} // namespace kvscope
