#pragma once

#include "engine/checkpoint/config_object.h"
#include "engine/checkpoint/model_config.h"

namespace kvscope {

/// Qwen's windows: layers from max_window_layers on, where use_sliding_window switches them on.
void readQwenWindows(const ConfigObject& config, ModelConfig& model);

/// Qwen's routed experts: every decoder_sparse_step-th layer that mlp_only_layers does not name.
/// \param experts  filled; numActive and expertDim are what the class assumes where the file does
/// not say them
void readQwenExperts(const ConfigObject& config, MoEConfig experts, ModelConfig& model);

} // namespace kvscope
