#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"
#include "engine/checkpoint/architectures/layer_list.h"

#include <array>

namespace kvscope {
namespace {

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readCommonConfig(config, {.numKvHeads = 8, .maxPositions = 131072});
    model.architecture = "mistral";
    windowEveryLayer(readWindow(config, 4096), model);
    return model;
}

constexpr std::array<std::string_view, 1> kTypes = {"mistral"};

} // namespace

/// Mistral: llama with a window in every layer (v0.1) or none. Its GGUF files say "llama".
extern const Family kMistral;
const Family kMistral = {.huggingFaceTypes = kTypes,
                         .ggufArchitectures = {},
                         .readHuggingFace = readHuggingFace,
                         .bindHuggingFace = bindLlamaLike};

} // namespace kvscope
