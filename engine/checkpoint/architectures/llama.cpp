#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"

#include <array>

namespace kvscope {
namespace {

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readCommonConfig(config, {.maxPositions = 2048});
    model.architecture = "llama";
    model.hasQueryKeyValueBias = config.flag("attention_bias").value_or(false);
    model.hasOutputBias = model.hasQueryKeyValueBias;
    model.hasFeedForwardBias = config.flag("mlp_bias").value_or(false);
    return model;
}

/// Also Mistral's and Mixtral's GGUF files, which say "llama". Query and key rows are permuted for
/// adjacent pairs.
ModelConfig readGguf(const GgufFile& file)
{
    const GgufSection section(file);
    for (const char* key : {"attention.scale", "logit_scale"})
        if (section.number(key).value_or(0.0) != 0.0)
            section.fail(key, "is set, which a llama model does not have");
    ModelConfig model = readCommonGguf(section);
    model.architecture = model.experts ? "mixtral" : "llama";
    model.rotary.pairing = RotaryPairing::Adjacent;
    readGgufWindow(section, model);
    return model;
}

constexpr std::array<std::string_view, 1> kNames = {"llama"};

} // namespace

/// Llama 1 to 3 and their likes: SmolLM, TinyLlama, Yi, ...
extern const Family kLlama;
const Family kLlama = {.huggingFaceTypes = kNames,
                       .ggufArchitectures = kNames,
                       .readHuggingFace = readHuggingFace,
                       .bindHuggingFace = bindLlamaLike,
                       .readGguf = readGguf};

} // namespace kvscope
