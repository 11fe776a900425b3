#pragma once

#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"

namespace kvscope {

/// What all Gemmas share: embeddings times sqrt(E), GELU by tanh, gains stored less one.
ModelConfig readGemmaConfig(const ConfigObject& config, const HuggingFaceDefaults& defaults);
/// The same of a GGUF file, whose converter has added the one.
ModelConfig readGemmaGguf(const GgufSection& section);

/// Gemma 2 and 3 have norms on both sides: pre_feedforward_layernorm and two post norms.
LayerTensors bindSandwichLayer(const ModelConfig& config, TensorBinder& binder,
                               const std::string& prefix);

} // namespace kvscope
