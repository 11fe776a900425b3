#pragma once

#include "engine/checkpoint/config_object.h"
#include "engine/checkpoint/model_config.h"
#include "engine/checkpoint/model_tensors.h"
#include "engine/checkpoint/tensor_binder.h"

namespace kvscope {

/// GPT-OSS-Lite: even layers windowed, odd ones global; a learned sink per query head; routed and
/// shared SwiGLU experts; adjacent rotary pairs with its own YaRN, of which global layers leave the
/// first headDim / 4 unrotated.
///
/// Every key that changes a number must be there, except rms_norm_eps (1e-5) and weight_tying
/// (true), which the architecture fixes. Keys that nothing here depends on are ignored. \throws
/// CheckpointError naming the key
ModelConfig readGptOssLiteConfig(const ConfigObject& yaml);

/// Maps `embed`, `blocks.N...`, `norm` and `head` onto their roles.
/// \param config  a validated configuration
/// \throws CheckpointError naming missing, unexpected and mis-shaped tensors
ModelTensors bindGptOssLite(const ModelConfig& config, TensorBinder& binder);

} // namespace kvscope
