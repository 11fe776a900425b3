#include "engine/checkpoint/architectures/llama.h"

#include <string_view>

namespace kvscope {
namespace {

/// What a layout calls one layer's tensors, after the layer's own prefix.
struct LayerNames
{
    std::string_view attentionNorm, query, key, value, output, feedForwardNorm, gate, up, down;
};

struct Layout
{
    std::string_view embedding, finalNorm, head, layerPrefix;
    LayerNames layer;
};

constexpr Layout kHuggingFace = {
    .embedding = "model.embed_tokens.weight",
    .finalNorm = "model.norm.weight",
    .head = "lm_head.weight",
    .layerPrefix = "model.layers.",
    .layer = {.attentionNorm = "input_layernorm.weight",
              .query = "self_attn.q_proj.weight",
              .key = "self_attn.k_proj.weight",
              .value = "self_attn.v_proj.weight",
              .output = "self_attn.o_proj.weight",
              .feedForwardNorm = "post_attention_layernorm.weight",
              .gate = "mlp.gate_proj.weight",
              .up = "mlp.up_proj.weight",
              .down = "mlp.down_proj.weight"},
};

constexpr Layout kGguf = {
    .embedding = "token_embd.weight",
    .finalNorm = "output_norm.weight",
    .head = "output.weight",
    .layerPrefix = "blk.",
    .layer = {.attentionNorm = "attn_norm.weight",
              .query = "attn_q.weight",
              .key = "attn_k.weight",
              .value = "attn_v.weight",
              .output = "attn_output.weight",
              .feedForwardNorm = "ffn_norm.weight",
              .gate = "ffn_gate.weight",
              .up = "ffn_up.weight",
              .down = "ffn_down.weight"},
};

LayerTensors bindLayer(const ModelConfig& config, TensorBinder& binder, const std::string& prefix,
                       const LayerNames& names)
{
    const auto name = [&prefix](std::string_view part) { return prefix + std::string(part); };
    const std::int64_t width = config.modelWidth;
    const std::int64_t queryWidth = config.numHeads * config.headDim;
    const std::int64_t keyWidth = config.numKvHeads * config.headDim;
    const std::int64_t inner = config.feedForwardDim;
    LayerTensors layer;
    layer.attentionNorm = binder.vector(name(names.attentionNorm), width);
    layer.query = binder.matrix(name(names.query), {queryWidth, width});
    layer.key = binder.matrix(name(names.key), {keyWidth, width});
    layer.value = binder.matrix(name(names.value), {keyWidth, width});
    layer.output = binder.matrix(name(names.output), {width, queryWidth});
    layer.feedForwardNorm = binder.vector(name(names.feedForwardNorm), width);
    layer.dense = {.gate = binder.matrix(name(names.gate), {inner, width}),
                   .up = binder.matrix(name(names.up), {inner, width}),
                   .down = binder.matrix(name(names.down), {width, inner})};
    return layer;
}

ModelTensors bindLayout(const ModelConfig& config, TensorBinder& binder, const Layout& layout)
{
    const TensorBinder::Shape table = {config.vocabularySize, config.modelWidth};
    ModelTensors tensors;
    tensors.embedding = binder.matrix(std::string(layout.embedding), table);
    tensors.finalNorm = binder.vector(std::string(layout.finalNorm), config.modelWidth);
    if (!config.hasTiedHead)
        tensors.head = binder.matrix(std::string(layout.head), table);
    for (std::int64_t i = 0; i < config.numLayers(); ++i)
        tensors.layers.push_back(
            bindLayer(config, binder, std::string(layout.layerPrefix) + std::to_string(i) + ".",
                      layout.layer));
    binder.finish("a llama model of " + std::to_string(config.numLayers()) + " layers");
    return tensors;
}

} // namespace

ModelTensors bindHuggingFaceLlama(const ModelConfig& config, TensorBinder& binder)
{
    binder.ignoreEndingWith("rotary_emb.inv_freq");
    if (config.hasTiedHead)
        binder.ignore(kHuggingFace.head);
    return bindLayout(config, binder, kHuggingFace);
}

ModelTensors bindGgufLlama(const ModelConfig& config, TensorBinder& binder)
{
    binder.ignore("rope_freqs.weight"); // read with the configuration
    return bindLayout(config, binder, kGguf);
}

} // namespace kvscope
