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
    model.architecture = "granite";
    model.hasQueryKeyValueBias = config.flag("attention_bias").value_or(false);
    model.hasOutputBias = model.hasQueryKeyValueBias;
    model.hasFeedForwardBias = config.flag("mlp_bias").value_or(false);
    model.embeddingScale = config.number("embedding_multiplier").value_or(1.0);
    model.residualScale = config.number("residual_multiplier").value_or(1.0);
    model.attentionScale = config.number("attention_multiplier").value_or(1.0);
    model.logitScale = 1.0 / config.number("logits_scaling").value_or(1.0);
    return model;
}

/// Query and key rows are permuted for adjacent pairs, as in llama's files.
ModelConfig readGguf(const GgufFile& file)
{
    const GgufSection section(file);
    ModelConfig model = readCommonGguf(section);
    model.architecture = "granite";
    model.rotary.pairing = RotaryPairing::Adjacent;
    model.embeddingScale = section.number("embedding_scale").value_or(1.0);
    model.residualScale = section.number("residual_scale").value_or(1.0);
    // Here 0 stands for the usual scale (llama.cpp, f_attention_scale).
    if (const double scale = section.number("attention.scale").value_or(0.0); scale != 0.0)
        model.attentionScale = scale;
    model.logitScale = 1.0 / section.number("logit_scale").value_or(1.0);
    return model;
}

constexpr std::array<std::string_view, 1> kNames = {"granite"};

} // namespace

/// IBM's Granite 3 and 4 dense models: llama with four multipliers.
extern const Family kGranite;
const Family kGranite = {.huggingFaceTypes = kNames,
                         .ggufArchitectures = kNames,
                         .readHuggingFace = readHuggingFace,
                         .bindHuggingFace = bindLlamaLike,
                         .readGguf = readGguf};

} // namespace kvscope
