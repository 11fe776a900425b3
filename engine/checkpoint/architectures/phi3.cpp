#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"
#include "engine/checkpoint/architectures/layer_list.h"
#include "engine/checkpoint/error_text.h"

#include <array>

namespace kvscope {
namespace {

/// The class has no other scaling than longrope, and takes "yarn", which its first files may say,
/// for it. Source: transformers 5.23, Phi3Config.convert_rope_params_to_dict, validate_rope.
ConfigObject withLongRope(const ConfigObject& config)
{
    const ConfigObject section = rotarySection(config);
    const char* key = section.has("rope_type") ? "rope_type" : "type";
    const std::string type = section.text(key).value_or("default");
    if (type == "default" || type == "longrope" || type == "su")
        return config;
    if (type != "yarn")
        section.fail(key, "is " + printable(type) + "; phi3 has longrope alone");
    nlohmann::json scaling = section.keys();
    scaling["rope_type"] = "longrope";
    return config.mergedWith(
        ConfigObject(nlohmann::json::object({{"rope_scaling", scaling}}), config.file()));
}

ModelConfig readHuggingFace(const ConfigObject& config)
{
    constexpr HuggingFaceDefaults kDefaults = {
        .normEpsilon = 1e-5, .maxPositions = 4096, .originalPositions = 4096};
    ModelConfig model = readCommonConfig(withLongRope(config), kDefaults);
    model.architecture = "phi3";
    windowEveryLayer(readWindow(config, std::nullopt), model);
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
    readGgufWindow(section, model);
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
