#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"

#include <array>

namespace kvscope {
namespace {

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readCommonConfig(config, {.numKvHeads = 8});
    model.architecture = "mistral";
    // The class assumes 4,096 where the key is missing; null says that there is no window.
    const auto window = config.isStated("sliding_window") ? config.wholeNumber("sliding_window")
                                                          : std::optional<std::int64_t>(4096);
    readLayerKinds(
        config, window, [](std::int64_t) { return true; }, model);
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
