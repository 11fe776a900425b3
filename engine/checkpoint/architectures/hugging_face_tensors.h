#pragma once

#include "engine/checkpoint/model_config.h"
#include "engine/checkpoint/model_tensors.h"
#include "engine/checkpoint/tensor_binder.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace kvscope {

// Pieces of which families put their tensor mapping together. A prefix ends with its dot. Biases,
// norms and experts are asked for where the configuration says that there are some.

/// PREFIXweight [out, in] and, where `hasBias`, PREFIXbias [out].
LinearTensors bindLinear(TensorBinder& binder, const std::string& prefix, std::int64_t out,
                         std::int64_t in, bool hasBias);

/// Rows [first, first + count) of a linear layer that holds several.
LinearTensors partOf(const LinearTensors& fused, std::int64_t first, std::int64_t count);

/// PREFIXq_proj, k_proj, v_proj, o_proj, and q_norm, k_norm.
void bindAttention(const ModelConfig& config, TensorBinder& binder, const std::string& prefix,
                   LayerTensors& layer);

/// PREFIXNAME: queries, keys and values as the rows of one matrix.
void bindFusedAttention(const ModelConfig& config, TensorBinder& binder, const std::string& name,
                        LayerTensors& layer);

/// PREFIXgate_proj, up_proj, down_proj. \param inner  F
FeedForwardTensors bindFeedForward(const ModelConfig& config, TensorBinder& binder,
                                   const std::string& prefix, std::int64_t inner);

/// PREFIXgate and PREFIXexperts.N., each a feed-forward.
void bindExperts(const ModelConfig& config, TensorBinder& binder, const std::string& prefix,
                 LayerTensors& layer);

/// A routed expert whose matrices are PREFIXw1 (gate), w3 (up) and w2 (down), none with a bias.
FeedForwardTensors bindNumberedExpert(const ModelConfig& config, TensorBinder& binder,
                                      const std::string& prefix);

/// NAME.weight and, of a LayerNorm, NAME.bias.
NormTensors bindNorm(const ModelConfig& config, TensorBinder& binder, const std::string& name);

/// The four norms that a layer may have, by the names given after the layer's prefix; those the
/// configuration has not are not asked for.
struct NormNames
{
    std::string_view attention = "input_layernorm";
    std::string_view attentionPost = "post_attention_layernorm";
    std::string_view feedForward = "post_attention_layernorm";
    std::string_view feedForwardPost = "post_feedforward_layernorm";
};
void bindNorms(const ModelConfig& config, TensorBinder& binder, const std::string& prefix,
               const NormNames& names, LayerTensors& layer);

/// Binds layer `index` with the prefix "model.layers.N.".
using BindLayer = std::function<LayerTensors(const std::string& prefix, std::int64_t index)>;

/// PREFIXmodel.embed_tokens, model.norm, lm_head and the layers, then asks that nothing is missing
/// or left over. Buffers that end in rotary_emb.inv_freq are ignored, and so is the lm_head.weight
/// of a tied model, as transformers does. \param prefix  "" or, in a multimodal checkpoint,
/// "language_model."
ModelTensors bindDecoder(const ModelConfig& config, TensorBinder& binder,
                         const BindLayer& bindLayer, const std::string& prefix = {});

/// As llama-like families have it: norms, attention, and a dense feed-forward or experts in
/// PREFIXmlp.
ModelTensors bindLlamaLike(const ModelConfig& config, TensorBinder& binder);

} // namespace kvscope
