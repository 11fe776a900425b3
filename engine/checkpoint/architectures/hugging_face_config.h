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
};

/// The keys that llama-like families share: sizes, norms' epsilon, tied head, activation, rotation,
/// positions, one global layer for each of num_hidden_layers.
/// \throws CheckpointError naming the key; quantised weights are refused but for gpt-oss's MXFP4
ModelConfig readCommonConfig(const ConfigObject& config, const HuggingFaceDefaults& defaults);

/// "silu", "gelu", ... \throws CheckpointError for one that is not known
Activation readActivation(const ConfigObject& config, std::string_view key, Activation otherwise);

/// Gives layers their kind: by `layer_types` where the file has that list, otherwise by the
/// family's own rule. \param window  keys a windowed layer's query sees; nothing: all are global
void readLayerKinds(const ConfigObject& config, std::optional<std::int64_t> window,
                    const std::function<bool(std::int64_t layer)>& isWindowed, ModelConfig& model);

/// The rotation of `rope_parameters`, or of the older `rope_theta` with `rope_scaling`: types
/// default, linear, dynamic, yarn, llama3, longrope.
RotaryConfig readRotary(const ConfigObject& config, double defaultBase, std::int64_t headDim);
/// The same of one section, for families with several. \param config  for positions and the base
RotaryConfig readRotarySection(const ConfigObject& config, const ConfigObject& section,
                               double defaultBase, std::int64_t headDim);

/// Sets trained and extended positions from max_position_embeddings and the rotation.
void readPositions(const ConfigObject& config, ModelConfig& model);

} // namespace kvscope
