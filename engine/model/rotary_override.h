#pragma once

#include "engine/checkpoint/model_config.h"

#include <memory>
#include <string>

namespace kvscope {

struct Checkpoint;

/// Applies what a person chose instead of the file's own rotation: "plain" (the same base,
/// unscaled) or "linear:F" (frequencies divided by F). Pairing and identity pairs stay the
/// checkpoint's. \throws ArgumentError for anything else
void overrideRotary(ModelConfig& config, const std::string& choice);

/// The checkpoint with another rotation; the same one where `choice` is empty.
std::shared_ptr<const Checkpoint> withRotary(std::shared_ptr<const Checkpoint> checkpoint,
                                             const std::string& choice);

/// "plain, base 100,000", "gpt-oss-lite YaRN x32 from 4,096, base 100,000".
std::string rotaryText(const RotaryConfig& rotary);

} // namespace kvscope
