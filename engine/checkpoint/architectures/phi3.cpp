#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"

#include <array>

namespace kvscope {
namespace {

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readCommonConfig(config, {.normEpsilon = 1e-5});
    model.architecture = "phi3";
    readLayerKinds(
        config, config.wholeNumber("sliding_window"), [](std::int64_t) { return true; }, model);
    return model;
}

ModelTensors bindHuggingFace(const ModelConfig& config, TensorBinder& binder)
{
    return bindDecoder(config, binder, [&](const std::string& prefix, std::int64_t) {
        const std::int64_t width = config.modelWidth;
        const std::int64_t inner = config.feedForwardDim;
        LayerTensors layer;
        bindNorms(config, binder, prefix, {}, layer);
        bindFusedAttention(config, binder, prefix + "self_attn.qkv_proj", layer);
        layer.output = bindLinear(binder, prefix + "self_attn.o_proj.", width,
                                  config.numHeads * config.headDim, false);
        const LinearTensors fused =
            bindLinear(binder, prefix + "mlp.gate_up_proj.", 2 * inner, width, false);
        layer.dense = {.gate = partOf(fused, 0, inner),
                       .up = partOf(fused, inner, inner),
                       .down = bindLinear(binder, prefix + "mlp.down_proj.", width, inner, false)};
        return layer;
    });
}

ModelConfig readGguf(const GgufFile& file)
{
    const GgufSection section(file);
    ModelConfig model = readCommonGguf(section);
    model.architecture = "phi3";
    readGgufWindows(
        section, [](std::int64_t) { return true; }, model);
    return model;
}

constexpr std::array<std::string_view, 1> kNames = {"phi3"};

} // namespace

/// Phi-3, 3.5 and 4: llama with fused projections, and longrope in the long ones.
extern const Family kPhi3;
const Family kPhi3 = {.huggingFaceTypes = kNames,
                      .ggufArchitectures = kNames,
                      .readHuggingFace = readHuggingFace,
                      .bindHuggingFace = bindHuggingFace,
                      .readGguf = readGguf};

} // namespace kvscope
