#pragma once

#include "engine/checkpoint/config_object.h"
#include "engine/checkpoint/gguf_file.h"
#include "engine/checkpoint/model_config.h"
#include "engine/checkpoint/model_tensors.h"
#include "engine/checkpoint/tensor_binder.h"

namespace kvscope {

/// Llama from a Hugging Face config.json: rotary pairs half a head apart. Reads both
/// `rope_parameters` and the older `rope_theta` with `rope_scaling`, of types default and linear.
/// Biases, partial rotation, other activations and quantised weights are refused by name. Defaults
/// are those of transformers' LlamaConfig. \throws CheckpointError naming the key
ModelConfig readLlamaConfig(const ConfigObject& config);

/// Llama from `llama.*` metadata: adjacent rotary pairs, as GGUF stores the query and key rows; the
/// head is tied where there is no output.weight; rope_freqs.weight gives the frequency divisors.
/// \throws CheckpointError naming the key
ModelConfig readLlamaConfig(const GgufFile& file);

/// Hugging Face's names (`model.layers.N.self_attn.q_proj.weight`, ...). Buffers that end in
/// rotary_emb.inv_freq are ignored, and so is the lm_head.weight of a tied model, as transformers
/// does. \throws CheckpointError naming missing, unexpected and mis-shaped tensors
ModelTensors bindHuggingFaceLlama(const ModelConfig& config, TensorBinder& binder);

/// GGUF's names (`blk.N.attn_q.weight`, ...).
/// \throws CheckpointError naming missing, unexpected and mis-shaped tensors
ModelTensors bindGgufLlama(const ModelConfig& config, TensorBinder& binder);

} // namespace kvscope
