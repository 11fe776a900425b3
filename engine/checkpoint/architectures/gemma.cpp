#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gemma_common.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"

#include <array>

namespace kvscope {
namespace {

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readGemmaConfig(
        config, {.tiesHead = true, .numKvHeads = 16, .headDim = 256, .maxPositions = 8192},
        "hidden_act");
    model.architecture = "gemma";
    if (model.activation == Activation::Gelu) // what the first files say, and do not mean
        model.activation = Activation::GeluTanh;
    return model;
}

ModelConfig readGguf(const GgufFile& file)
{
    ModelConfig model = readGemmaGguf(GgufSection(file));
    model.architecture = "gemma";
    return model;
}

constexpr std::array<std::string_view, 1> kNames = {"gemma"};

} // namespace

/// Gemma 1: llama with scaled embeddings, GELU and gains stored less one.
extern const Family kGemma;
const Family kGemma = {.huggingFaceTypes = kNames,
                       .ggufArchitectures = kNames,
                       .readHuggingFace = readHuggingFace,
                       .bindHuggingFace = bindLlamaLike,
                       .readGguf = readGguf};

} // namespace kvscope
