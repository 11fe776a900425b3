#include "engine/checkpoint/architectures/gpt_oss_lite.h"

#include "engine/checkpoint/architectures/hugging_face_tensors.h"
#include "engine/checkpoint/architectures/layer_list.h"
#include "engine/checkpoint/error_text.h"

#include <algorithm>
#include <array>

namespace kvscope {
namespace {

/// Switches of other models that would change the result; this architecture has none of them.
constexpr std::array kForeignSwitches = {
    "attention_bias", "mlp_bias",       "qkv_bias",      "use_bias",     "qk_norm",
    "use_qk_norm",    "logit_soft_cap", "logit_softcap", "attn_softcap", "parallel_residual",
};

void refuseForeignSwitches(const ConfigObject& yaml)
{
    for (const char* key : kForeignSwitches) {
        const nlohmann::json* value = yaml.find(key);
        if (value != nullptr && *value != false && *value != 0)
            yaml.fail(key, "is switched on, which a GPT-OSS-Lite model does not have");
    }
    for (const char* key : {"activation", "hidden_act"})
        if (const auto name = yaml.text(key); name && *name != "silu" && *name != "swiglu")
            yaml.fail(key, "is " + printable(*name) + ", silu was expected");
}

RotaryConfig readRotary(const ConfigObject& yaml)
{
    RotaryConfig rotary;
    rotary.pairing = RotaryPairing::Adjacent;
    rotary.base = yaml.requireNumber("rope_theta");
    rotary.scheme =
        GptOssLiteRotary{.factor = yaml.requireNumber("yarn_scale_factor"),
                         .originalPositions = yaml.requireWholeNumber("yarn_original_max_seq_len"),
                         .betaFast = yaml.requireNumber("yarn_beta_fast"),
                         .betaSlow = yaml.requireNumber("yarn_beta_slow"),
                         .hasMscale = yaml.requireFlag("yarn_mscale")};
    return rotary;
}

/// \pre headDim was read; limits are checked later, so nothing may be computed that could overflow
std::vector<LayerConfig> readLayers(const ConfigObject& yaml, std::int64_t headDim)
{
    const std::int64_t window = yaml.requireWholeNumber("window_size");
    const bool hasSink = yaml.requireFlag("sink_bias");
    const bool prunesGlobal = yaml.requireFlag("yarn_prune_rope_global");
    auto layers = layersOf(yaml, "n_layers", yaml.requireWholeNumber("n_layers"));
    for (std::size_t i = 0; i < layers.size(); ++i) {
        layers[i].hasSink = hasSink;
        layers[i].hasExperts = true;
        if (i % 2 == 0) {
            layers[i].kind = LayerKind::Windowed;
            layers[i].window = window;
        } else if (prunesGlobal) {
            layers[i].identityPairs = headDim / 4;
        }
    }
    return layers;
}

/// Queries apart, keys and values in one.
void bindFusedPairs(const ModelConfig& config, TensorBinder& binder, const std::string& prefix,
                    LayerTensors& layer)
{
    const std::int64_t width = config.modelWidth;
    const std::int64_t queries = config.numHeads * config.headDim;
    const std::int64_t keys = config.numKvHeads * config.headDim;
    layer.query = bindLinear(binder, prefix + "q_proj.", queries, width, false);
    const LinearTensors fused = bindLinear(binder, prefix + "kv_proj.", 2 * keys, width, false);
    layer.key = partOf(fused, 0, keys);
    layer.value = partOf(fused, keys, keys);
    layer.output = bindLinear(binder, prefix + "o_proj.", width, queries, false);
}

LayerTensors bindLayer(const ModelConfig& config, TensorBinder& binder, std::int64_t index)
{
    const std::string block = "blocks." + std::to_string(index) + ".";
    const MoEConfig& experts = *config.experts;
    LayerTensors layer;
    layer.attentionNorm = bindNorm(config, binder, block + "norm1");
    bindFusedPairs(config, binder, block + "attn.", layer);
    if (config.layers[static_cast<std::size_t>(index)].hasSink)
        layer.sink = binder.vector(block + "attn.sink_bias", config.numHeads);
    layer.feedForwardNorm = bindNorm(config, binder, block + "norm2");
    layer.router = bindLinear(binder, block + "moe.router.gate.", experts.numExperts,
                              config.modelWidth, false);
    for (std::int64_t e = 0; e < experts.numExperts; ++e)
        layer.experts.push_back(
            bindNumberedExpert(config, binder, block + "moe.experts." + std::to_string(e) + "."));
    for (std::int64_t s = 0; s < experts.numShared; ++s)
        layer.sharedExperts.push_back(bindNumberedExpert(
            config, binder, block + "moe.shared_experts." + std::to_string(s) + "."));
    return layer;
}

} // namespace

ModelConfig readGptOssLiteConfig(const ConfigObject& yaml)
{
    refuseForeignSwitches(yaml);
    ModelConfig config;
    config.architecture = "gpt-oss-lite";
    config.vocabularySize = yaml.requireWholeNumber("vocab_size");
    config.modelWidth = yaml.requireWholeNumber("d_model");
    config.numHeads = yaml.requireWholeNumber("n_heads");
    config.numKvHeads = yaml.requireWholeNumber("n_kv_heads");
    config.headDim = yaml.requireWholeNumber("head_dim");
    config.feedForwardDim = yaml.requireWholeNumber("ffn_dim");
    config.normEpsilon = yaml.number("rms_norm_eps").value_or(1e-5);
    config.hasTiedHead = yaml.flag("weight_tying").value_or(true);
    config.experts = MoEConfig{.numExperts = yaml.requireWholeNumber("n_routed_experts"),
                               .numActive = yaml.requireWholeNumber("n_activated_experts"),
                               .numShared = yaml.requireWholeNumber("n_shared_experts")};
    config.clampsSinks = true;
    config.rotary = readRotary(yaml);
    config.layers = readLayers(yaml, config.headDim);
    const auto& yarn = std::get<GptOssLiteRotary>(config.rotary.scheme);
    config.trainedPositions = yaml.wholeNumber("max_seq_len").value_or(yarn.originalPositions);
    config.extendedPositions = config.trainedPositions;
    if (yarn.factor > 1.0)
        config.extendedPositions =
            std::max(config.trainedPositions,
                     yaml.wholeNumber("yarn_target_seq_len").value_or(config.trainedPositions));
    return config;
}

ModelTensors bindGptOssLite(const ModelConfig& config, TensorBinder& binder)
{
    ModelTensors tensors;
    tensors.embedding = binder.matrix("embed.weight", config.vocabularySize, config.modelWidth);
    tensors.finalNorm = bindNorm(config, binder, "norm");
    if (!config.hasTiedHead)
        tensors.head = bindLinear(binder, "head.", config.vocabularySize, config.modelWidth, false);
    for (std::int64_t i = 0; i < config.numLayers(); ++i)
        tensors.layers.push_back(bindLayer(config, binder, i));
    binder.finish("a GPT-OSS-Lite model of " + std::to_string(config.numLayers()) + " layers");
    return tensors;
}

} // namespace kvscope
