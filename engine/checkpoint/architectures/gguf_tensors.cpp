#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"

namespace kvscope {
namespace {

/// One layer's mapping: `blk.N.` and what the configuration says is there.
class LayerBinder
{
public:
    LayerBinder(const ModelConfig& config, TensorBinder& binder, std::int64_t index)
        : m_config(config)
        , m_binder(binder)
        , m_layer(config.layers[static_cast<std::size_t>(index)])
        , m_prefix("blk." + std::to_string(index) + ".")
    {
    }

    LayerTensors bind()
    {
        bindNorms();
        bindAttention();
        if (m_layer.hasExperts)
            bindExperts();
        else
            bindDense();
        return std::move(m_tensors);
    }

private:
    std::string name(std::string_view part) const { return m_prefix + std::string(part); }
    LinearTensors linear(std::string_view part, std::int64_t out, std::int64_t in, bool hasBias)
    {
        return bindLinear(m_binder, name(part) + ".", out, in, hasBias);
    }
    NormTensors norm(std::string_view part) { return bindNorm(m_config, m_binder, name(part)); }

    void bindNorms()
    {
        // gpt-oss calls the norm before its experts by the name that others give the one after
        // attention.
        const bool isRenamed = !m_config.hasPostNorms && !m_binder.has(name("ffn_norm.weight")) &&
                               m_binder.has(name("post_attention_norm.weight"));
        if (m_config.hasPreNorms) {
            m_tensors.attentionNorm = norm("attn_norm");
            m_tensors.feedForwardNorm = norm(isRenamed ? "post_attention_norm" : "ffn_norm");
        }
        if (m_config.hasPostNorms) {
            m_tensors.attentionPostNorm = norm("post_attention_norm");
            m_tensors.feedForwardPostNorm = norm("post_ffw_norm");
        }
    }

    void bindAttention()
    {
        const std::int64_t width = m_config.modelWidth;
        const std::int64_t queries = m_config.numHeads * m_config.headDim;
        const std::int64_t keys = m_config.numKvHeads * m_config.headDim;
        const bool hasBias = m_config.hasQueryKeyValueBias;
        if (m_binder.has(name("attn_qkv.weight"))) {
            bindFusedAttention(m_config, m_binder, name("attn_qkv"), m_tensors);
        } else {
            m_tensors.query = linear("attn_q", queries, width, hasBias);
            m_tensors.key = linear("attn_k", keys, width, hasBias);
            m_tensors.value = linear("attn_v", keys, width, hasBias);
        }
        m_tensors.output = linear("attn_output", width, queries, m_config.hasOutputBias);
        if (m_config.queryKeyNorm != QueryKeyNorm::None) {
            const bool isHead = m_config.queryKeyNorm == QueryKeyNorm::Head;
            m_tensors.queryNorm =
                m_binder.vector(name("attn_q_norm.weight"), isHead ? m_config.headDim : queries);
            m_tensors.keyNorm =
                m_binder.vector(name("attn_k_norm.weight"), isHead ? m_config.headDim : keys);
        }
        if (m_layer.hasSink)
            m_tensors.sink = m_binder.vector(name("attn_sinks.weight"), m_config.numHeads);
    }

    void bindDense()
    {
        const std::int64_t width = m_config.modelWidth;
        const std::int64_t inner = m_config.feedForwardDim;
        const bool hasBias = m_config.hasFeedForwardBias;
        FeedForwardTensors& dense = m_tensors.dense;
        dense.down = linear("ffn_down", width, inner, hasBias);
        if (!m_config.isGated) {
            dense.up = linear("ffn_up", inner, width, hasBias);
        } else if (m_binder.has(name("ffn_gate.weight"))) {
            dense.gate = linear("ffn_gate", inner, width, hasBias);
            dense.up = linear("ffn_up", inner, width, hasBias);
        } else { // Phi-3 keeps both in one
            const LinearTensors fused = linear("ffn_up", 2 * inner, width, hasBias);
            dense.gate = partOf(fused, 0, inner);
            dense.up = partOf(fused, inner, inner);
        }
    }

    /// All experts' matrices of one kind, stacked.
    LinearTensors stack(std::string_view part, std::int64_t out, std::int64_t in)
    {
        const std::int64_t count = m_config.experts->numExperts;
        LinearTensors all;
        all.weight = m_binder.stack(name(part) + ".weight", count, out, in);
        if (m_config.hasFeedForwardBias)
            all.bias = m_binder.vectorStack(name(part) + ".bias", count, out);
        return all;
    }

    void bindExperts()
    {
        const MoEConfig& experts = *m_config.experts;
        const std::int64_t width = m_config.modelWidth;
        const std::int64_t inner = m_config.expertDim();
        m_tensors.router = linear("ffn_gate_inp", experts.numExperts, width, experts.hasRouterBias);
        const LinearTensors gate = stack("ffn_gate_exps", inner, width);
        const LinearTensors up = stack("ffn_up_exps", inner, width);
        const LinearTensors down = stack("ffn_down_exps", width, inner);
        for (std::int64_t e = 0; e < experts.numExperts; ++e)
            m_tensors.experts.push_back({.gate = partOf(gate, e * inner, inner),
                                         .up = partOf(up, e * inner, inner),
                                         .down = partOf(down, e * width, width)});
        if (experts.numShared == 0)
            return;
        const std::int64_t shared = m_config.sharedExpertDim();
        m_tensors.sharedExperts.push_back({.gate = linear("ffn_gate_shexp", shared, width, false),
                                           .up = linear("ffn_up_shexp", shared, width, false),
                                           .down = linear("ffn_down_shexp", width, shared, false)});
        if (experts.hasSharedGate) {
            const VectorSource gateRow = m_binder.vector(name("ffn_gate_inp_shexp.weight"), width);
            m_tensors.sharedGate = {
                .tensor = gateRow.tensor, .rows = 1, .cols = width, .rowStride = width};
        }
    }

    const ModelConfig& m_config;
    TensorBinder& m_binder;
    const LayerConfig& m_layer;
    std::string m_prefix;
    LayerTensors m_tensors;
};

} // namespace

ModelTensors bindGguf(const ModelConfig& config, TensorBinder& binder)
{
    for (const char* name :
         {"rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"})
        binder.ignore(name); // read with the configuration
    ModelTensors tensors;
    tensors.embedding =
        binder.matrix("token_embd.weight", config.vocabularySize, config.modelWidth);
    if (config.hasLearnedPositions)
        tensors.positions =
            binder.matrix("position_embd.weight", config.trainedPositions, config.modelWidth);
    tensors.finalNorm = bindNorm(config, binder, "output_norm");
    if (!config.hasTiedHead)
        tensors.head =
            bindLinear(binder, "output.", config.vocabularySize, config.modelWidth, false);
    for (std::int64_t i = 0; i < config.numLayers(); ++i)
        tensors.layers.push_back(LayerBinder(config, binder, i).bind());
    binder.finish("a " + config.architecture + " model of " + std::to_string(config.numLayers()) +
                  " layers");
    return tensors;
}

} // namespace kvscope
