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
    ModelConfig model = readCommonConfig(config, {.numKvHeads = 32, .maxPositions = 32768});
    model.architecture = "qwen2";
    model.hasQueryKeyValueBias = true;
    readQwenWindows(config, model);
    return model;
}

ModelConfig readGguf(const GgufFile& file)
{
    ModelConfig model = readCommonGguf(GgufSection(file));
    model.architecture = "qwen2";
    return model;
}

constexpr std::array<std::string_view, 1> kNames = {"qwen2"};

} // namespace

/// Qwen 2 and 2.5: llama with biases on queries, keys and values.
extern const Family kQwen2;
const Family kQwen2 = {.huggingFaceTypes = kNames,
                       .ggufArchitectures = kNames,
                       .readHuggingFace = readHuggingFace,
                       .bindHuggingFace = bindLlamaLike,
                       .readGguf = readGguf};

} // namespace kvscope
