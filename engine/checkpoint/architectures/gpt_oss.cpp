#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"

#include <array>

namespace kvscope {
namespace {

constexpr double kBase = 150000.0;

bool isWindowed(std::int64_t layer)
{
    return layer % 2 == 0;
}

void setShape(ModelConfig& model)
{
    model.architecture = "gpt-oss";
    model.activation = Activation::ClampedSilu;
    model.hasFeedForwardBias = true;
    for (LayerConfig& layer : model.layers) {
        layer.hasSink = true;
        layer.hasExperts = true;
    }
}

/// What the class assumes where a file says nothing of its rotation.
ConfigObject withRotation(const ConfigObject& config)
{
    if (config.has("rope_parameters") || !rotarySection(config).isEmpty())
        return config;
    const auto rotation = nlohmann::json::object({{"rope_type", "yarn"},
                                                  {"factor", 32.0},
                                                  {"truncate", false},
                                                  {"original_max_position_embeddings", 4096}});
    return config.mergedWith(
        ConfigObject(nlohmann::json::object({{"rope_parameters", rotation}}), config.file()));
}

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readCommonConfig(withRotation(config), {.normEpsilon = 1e-5,
                                                                .numKvHeads = 8,
                                                                .headDim = 64,
                                                                .rotaryBase = kBase,
                                                                .maxPositions = 131072});
    if (config.number("swiglu_limit").value_or(kClampedSiluLimit) != kClampedSiluLimit)
        config.fail("swiglu_limit", "is not 7");
    if (config.number("swiglu_alpha").value_or(kClampedSiluAlpha) != kClampedSiluAlpha)
        config.fail("swiglu_alpha", "is not 1.702");
    model.hasQueryKeyValueBias = config.flag("attention_bias").value_or(true);
    model.hasOutputBias = model.hasQueryKeyValueBias;
    // The files' experts_per_token says the same and does not count.
    model.experts = MoEConfig{.numExperts = readNumExperts(config, 128),
                              .numActive = config.wholeNumber("num_experts_per_tok").value_or(4),
                              .hasRouterBias = true};
    readLayerKinds(config, requireWindow(config, 128), isWindowed, model);
    setShape(model);
    return model;
}

/// Every expert's gate and up rows alternate; plain weights are stored as [in, out], MXFP4 ones as
/// [out, in].
void bindExpertStack(const ModelConfig& config, TensorBinder& binder, const std::string& prefix,
                     LayerTensors& layer)
{
    const std::int64_t count = config.experts->numExperts;
    const std::int64_t width = config.modelWidth;
    const std::int64_t inner = config.expertDim();
    const bool isMxfp4 = binder.has(prefix + "gate_up_proj_blocks");
    const auto stack = [&](const char* name, std::int64_t out, std::int64_t in) {
        return isMxfp4 ? binder.mxfp4Stack(prefix + name, count, out, in)
                       : binder.stack(prefix + name, count, in, out);
    };
    const auto expertOf = [&](const MatrixSource& all, std::int64_t e, std::int64_t out,
                              std::int64_t in) {
        return isMxfp4 ? all.rowsFrom(e * out, out) : all.rowsFrom(e * in, in).transposed();
    };
    const MatrixSource gateUp = stack("gate_up_proj", 2 * inner, width);
    const MatrixSource down = stack("down_proj", width, inner);
    const VectorSource gateUpBias =
        binder.vectorStack(prefix + "gate_up_proj_bias", count, 2 * inner);
    const VectorSource downBias = binder.vectorStack(prefix + "down_proj_bias", count, width);
    for (std::int64_t e = 0; e < count; ++e) {
        const MatrixSource both = expertOf(gateUp, e, 2 * inner, width);
        const VectorSource bothBias = gateUpBias.from(e * 2 * inner, 2 * inner);
        layer.experts.push_back(
            {.gate = {both.rowsFrom(0, inner, 2), bothBias.from(0, inner, 2)},
             .up = {both.rowsFrom(1, inner, 2), bothBias.from(1, inner, 2)},
             .down = {expertOf(down, e, width, inner), downBias.from(e * width, width)}});
    }
}

ModelTensors bindHuggingFace(const ModelConfig& config, TensorBinder& binder)
{
    return bindDecoder(config, binder, [&](const std::string& prefix, std::int64_t) {
        LayerTensors layer;
        bindNorms(config, binder, prefix, {}, layer);
        bindAttention(config, binder, prefix + "self_attn.", layer);
        layer.sink = binder.vector(prefix + "self_attn.sinks", config.numHeads);
        layer.router = bindLinear(binder, prefix + "mlp.router.", config.experts->numExperts,
                                  config.modelWidth, true);
        bindExpertStack(config, binder, prefix + "mlp.experts.", layer);
        return layer;
    });
}

ModelConfig readGguf(const GgufFile& file)
{
    const GgufSection section(file);
    ModelConfig model = readCommonGguf(section);
    if (!model.experts)
        section.fail("expert_count", "is missing or 0; gpt-oss has experts");
    model.experts->hasRouterBias = true;
    if (auto* yarn = std::get_if<YarnRotary>(&model.rotary.scheme))
        yarn->roundsRamp = false; // as trained; GGUF has no key for it
    readGgufWindows(section, isWindowed, model);
    setShape(model);
    return model;
}

constexpr std::array<std::string_view, 1> kTypes = {"gpt_oss"};
constexpr std::array<std::string_view, 1> kGgufNames = {"gpt-oss"};

} // namespace

/// OpenAI's gpt-oss: sinks, every other layer windowed, experts with a clamped gate, YaRN.
extern const Family kGptOss;
const Family kGptOss = {.huggingFaceTypes = kTypes,
                        .ggufArchitectures = kGgufNames,
                        .readHuggingFace = readHuggingFace,
                        .bindHuggingFace = bindHuggingFace,
                        .readGguf = readGguf};

} // namespace kvscope
