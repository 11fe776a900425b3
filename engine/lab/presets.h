#pragma once

#include "engine/checkpoint/model_config.h"

#include <string_view>
#include <vector>

namespace kvscope {

/// Names of the published shapes that need no file, in the order of the chapter's first table:
/// GPT-2, TinyLlama-1.1B, Phi-3-mini-4k, Gemma-2-2B, Mistral-7B-v0.3, Llama-3.2-1B, Llama-3.2-3B,
/// Llama-3.1-8B, and the 502M GPT-OSS-Lite.
std::vector<std::string_view> presetNames();

/// The shape of that name, upper and lower case alike: the ModelConfig that opening the model's own
/// Hugging Face folder gives, so a preset and a file can be compared. Source: each model's
/// published config.json; GPT-OSS-Lite's from its inference chapter.
/// \throws ArgumentError naming the presets there are
ModelConfig presetConfig(std::string_view name);

} // namespace kvscope
