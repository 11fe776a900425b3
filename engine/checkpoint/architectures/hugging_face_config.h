#pragma once

#include "engine/checkpoint/config_object.h"
#include "engine/checkpoint/model_config.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace kvscope {

/// What a family's configuration class assumes where config.json is silent. Source: transformers
/// 5.23, models/*/configuration_*.py.
struct HuggingFaceDefaults
{
    double normEpsilon = 1e-6;
    bool tiesHead = false;
    std::int64_t numHeads = 0;   ///< 0: the key is required
    std::int64_t numKvHeads = 0; ///< 0: as many as there are query heads
    std::int64_t headDim = 0;    ///< 0: hidden_size / num_attention_heads
    double rotaryBase = 10000.0;
    std::int64_t vocabularySize = 0; ///< 0: the key is required
    std::int64_t maxPositions = 0; ///< max_position_embeddings; every class has a number of its own
    /// original_max_position_embeddings, which one class states; 0: as the rotation says
    std::int64_t originalPositions = 0;
    /// The family has a rotation for each kind of layer and reads them, and positions, by itself.
    bool hasOwnRotations = false;
};

/// The keys that llama-like families share: sizes, norms' epsilon, tied head, activation, rotation,
/// positions, one global layer for each of num_hidden_layers. A null of num_key_value_heads stands
/// for as many as there are query heads, one of head_dim for hidden_size / num_attention_heads.
/// \throws CheckpointError naming the key; quantised weights are refused but for gpt-oss's MXFP4
ModelConfig readCommonConfig(const ConfigObject& config, const HuggingFaceDefaults& defaults);

/// "silu", "gelu", ... \throws CheckpointError for one that is not known
Activation readActivation(const ConfigObject& config, std::string_view key, Activation otherwise);

/// num_experts, which counts first where both are there, or num_local_experts.
std::int64_t readNumExperts(const ConfigObject& config, std::int64_t otherwise);

/// sliding_window: keys a windowed layer's query sees. Null says that there is none.
std::optional<std::int64_t> readWindow(const ConfigObject& config,
                                       std::optional<std::int64_t> otherwise);
/// The same of a family that has windowed layers in any case. \throws CheckpointError for null
std::int64_t requireWindow(const ConfigObject& config, std::int64_t otherwise);

/// Gives layers their kind: by `layer_types` where the file has that list, otherwise by the
/// family's own rule. \param window  keys a windowed layer's query sees; nothing: all are global
void readLayerKinds(const ConfigObject& config, std::optional<std::int64_t> window,
                    const std::function<bool(std::int64_t layer)>& isWindowed, ModelConfig& model);

/// The section that the rotation is read from: `rope_scaling` where it says anything, which then
/// counts alone, else `rope_parameters`, else an empty one. Source: transformers 5.23,
/// modeling_rope_utils.py, convert_rope_params_to_dict.
ConfigObject rotarySection(const ConfigObject& config);
/// The rotation of rotarySection(), and of rope_theta where that has no base: types default,
/// linear, dynamic, yarn, llama3, longrope.
RotaryConfig readRotary(const ConfigObject& config, const HuggingFaceDefaults& defaults,
                        std::int64_t headDim);
/// The same of one section, for families with several.
/// \param config  for positions \param defaults  rotaryBase where the section has no rope_theta
RotaryConfig readRotarySection(const ConfigObject& config, const ConfigObject& section,
                               const HuggingFaceDefaults& defaults, std::int64_t headDim);

/// Sets trained and extended positions from max_position_embeddings and the rotation.
void readPositions(const ConfigObject& config, const HuggingFaceDefaults& defaults,
                   ModelConfig& model);

} // namespace kvscope
