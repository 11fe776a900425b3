#pragma once

#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"

namespace kvscope {

/// What all Gemmas share: embeddings times sqrt(E), GELU by tanh, gains stored less one.
/// \param activationKey  hidden_act in Gemma 1, hidden_activation in the others
ModelConfig readGemmaConfig(const ConfigObject& config, const HuggingFaceDefaults& defaults,
                            std::string_view activationKey = "hidden_activation");
/// The same of a GGUF file, whose converter has added the one.
ModelConfig readGemmaGguf(const GgufSection& section);
/// Scores are divided by sqrt(E / H) in the 27B models alone, which a GGUF file does not say: they
/// are told by their number of layers, as llama.cpp does.
void setScaleOf27B(std::int64_t numLayersOf27B, ModelConfig& model);

/// Gemma 2 and 3 have norms on both sides: pre_feedforward_layernorm and two post norms.
LayerTensors bindSandwichLayer(const ModelConfig& config, TensorBinder& binder,
                               const std::string& prefix);

} // namespace kvscope
