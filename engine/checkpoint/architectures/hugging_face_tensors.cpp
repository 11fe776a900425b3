#include "engine/checkpoint/architectures/hugging_face_tensors.h"

namespace kvscope {
namespace {

std::int64_t queryWidth(const ModelConfig& config)
{
    return config.numHeads * config.headDim;
}

std::int64_t keyWidth(const ModelConfig& config)
{
    return config.numKvHeads * config.headDim;
}

std::string joined(const std::string& prefix, std::string_view name)
{
    return prefix + std::string(name);
}

} // namespace

LinearTensors bindLinear(TensorBinder& binder, const std::string& prefix, std::int64_t out,
                         std::int64_t in, bool hasBias)
{
    LinearTensors linear;
    linear.weight = binder.matrix(prefix + "weight", out, in);
    if (hasBias)
        linear.bias = binder.vector(prefix + "bias", out);
    return linear;
}

LinearTensors partOf(const LinearTensors& fused, std::int64_t first, std::int64_t count)
{
    LinearTensors part;
    part.weight = fused.weight.rowsFrom(first, count);
    if (fused.bias)
        part.bias = fused.bias.from(first, count);
    return part;
}

void bindAttention(const ModelConfig& config, TensorBinder& binder, const std::string& prefix,
                   LayerTensors& layer)
{
    const std::int64_t width = config.modelWidth;
    const bool hasBias = config.hasQueryKeyValueBias;
    layer.query = bindLinear(binder, prefix + "q_proj.", queryWidth(config), width, hasBias);
    layer.key = bindLinear(binder, prefix + "k_proj.", keyWidth(config), width, hasBias);
    layer.value = bindLinear(binder, prefix + "v_proj.", keyWidth(config), width, hasBias);
    layer.output =
        bindLinear(binder, prefix + "o_proj.", width, queryWidth(config), config.hasOutputBias);
    if (config.queryKeyNorm == QueryKeyNorm::None)
        return;
    const bool isHead = config.queryKeyNorm == QueryKeyNorm::Head;
    layer.queryNorm =
        binder.vector(prefix + "q_norm.weight", isHead ? config.headDim : queryWidth(config));
    layer.keyNorm =
        binder.vector(prefix + "k_norm.weight", isHead ? config.headDim : keyWidth(config));
}

void bindFusedAttention(const ModelConfig& config, TensorBinder& binder, const std::string& name,
                        LayerTensors& layer)
{
    const std::int64_t queries = queryWidth(config);
    const std::int64_t keys = keyWidth(config);
    const LinearTensors fused = bindLinear(binder, name + ".", queries + 2 * keys,
                                           config.modelWidth, config.hasQueryKeyValueBias);
    layer.query = partOf(fused, 0, queries);
    layer.key = partOf(fused, queries, keys);
    layer.value = partOf(fused, queries + keys, keys);
}

FeedForwardTensors bindFeedForward(const ModelConfig& config, TensorBinder& binder,
                                   const std::string& prefix, std::int64_t inner)
{
    const std::int64_t width = config.modelWidth;
    const bool hasBias = config.hasFeedForwardBias;
    return {.gate = bindLinear(binder, prefix + "gate_proj.", inner, width, hasBias),
            .up = bindLinear(binder, prefix + "up_proj.", inner, width, hasBias),
            .down = bindLinear(binder, prefix + "down_proj.", width, inner, hasBias)};
}

void bindExperts(const ModelConfig& config, TensorBinder& binder, const std::string& prefix,
                 LayerTensors& layer)
{
    const MoEConfig& experts = *config.experts;
    layer.router = bindLinear(binder, prefix + "gate.", experts.numExperts, config.modelWidth,
                              experts.hasRouterBias);
    for (std::int64_t e = 0; e < experts.numExperts; ++e)
        layer.experts.push_back(bindFeedForward(
            config, binder, prefix + "experts." + std::to_string(e) + ".", config.expertDim()));
}

FeedForwardTensors bindNumberedExpert(const ModelConfig& config, TensorBinder& binder,
                                      const std::string& prefix)
{
    const std::int64_t width = config.modelWidth;
    const std::int64_t inner = config.expertDim();
    return {.gate = bindLinear(binder, prefix + "w1.", inner, width, false),
            .up = bindLinear(binder, prefix + "w3.", inner, width, false),
            .down = bindLinear(binder, prefix + "w2.", width, inner, false)};
}

NormTensors bindNorm(const ModelConfig& config, TensorBinder& binder, const std::string& name)
{
    NormTensors norm;
    norm.gain = binder.vector(name + ".weight", config.modelWidth);
    if (config.norm == NormKind::Layer)
        norm.bias = binder.vector(name + ".bias", config.modelWidth);
    return norm;
}

void bindNorms(const ModelConfig& config, TensorBinder& binder, const std::string& prefix,
               const NormNames& names, LayerTensors& layer)
{
    const auto bind = [&](std::string_view name) {
        return bindNorm(config, binder, joined(prefix, name));
    };
    if (config.hasPreNorms) {
        layer.attentionNorm = bind(names.attention);
        layer.feedForwardNorm = bind(names.feedForward);
    }
    if (config.hasPostNorms) {
        layer.attentionPostNorm = bind(names.attentionPost);
        layer.feedForwardPostNorm = bind(names.feedForwardPost);
    }
}

ModelTensors bindDecoder(const ModelConfig& config, TensorBinder& binder,
                         const BindLayer& bindLayer, const std::string& prefix)
{
    binder.ignoreEndingWith("rotary_emb.inv_freq");
    const std::string head = prefix + "lm_head.";
    const std::string model = prefix + "model.";
    ModelTensors tensors;
    tensors.embedding =
        binder.matrix(model + "embed_tokens.weight", config.vocabularySize, config.modelWidth);
    tensors.finalNorm = bindNorm(config, binder, model + "norm");
    if (config.hasTiedHead)
        binder.ignore(head + "weight");
    else
        tensors.head = bindLinear(binder, head, config.vocabularySize, config.modelWidth, false);
    for (std::int64_t i = 0; i < config.numLayers(); ++i)
        tensors.layers.push_back(bindLayer(model + "layers." + std::to_string(i) + ".", i));
    binder.finish("a " + config.architecture + " model of " + std::to_string(config.numLayers()) +
                  " layers");
    return tensors;
}

ModelTensors bindLlamaLike(const ModelConfig& config, TensorBinder& binder)
{
    return bindDecoder(config, binder, [&](const std::string& prefix, std::int64_t index) {
        LayerTensors layer;
        bindNorms(config, binder, prefix, {}, layer);
        bindAttention(config, binder, prefix + "self_attn.", layer);
        if (config.layers[static_cast<std::size_t>(index)].hasExperts)
            bindExperts(config, binder, prefix + "mlp.", layer);
        else
            layer.dense = bindFeedForward(config, binder, prefix + "mlp.", config.feedForwardDim);
        return layer;
    });
}

} // namespace kvscope
