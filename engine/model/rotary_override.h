#pragma once

#include "engine/checkpoint/model_config.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

struct Checkpoint;

/// One way of rotating that can be chosen in place of the file's own.
struct RotaryChoice
{
    std::string_view name;    ///< "linear"
    std::string_view meaning; ///< for people, a few words
    bool hasFactor = false;   ///< written NAME:FACTOR
};

/// Every choice, in the order in which a list should show them.
const std::vector<RotaryChoice>& rotaryChoices();

/// Applies what a person chose instead of the file's own rotation, at the same base: "plain"
/// (unscaled), "linear:F", "dynamic:F", "yarn:F" (beta 32 and 1), "llama3:F" (frequency factors 1
/// and 4), or "none" (no rotation at all). F is how many times longer than the trained positions
/// contexts are to become; llama3 and yarn take those as their original ones. GPT-OSS-Lite's own
/// and longrope need numbers that only a file has: "gpt-oss-lite:F" works on files of that scheme,
/// "longrope" on files with its lists. Pairing, rotated part and identity pairs stay the
/// checkpoint's, and so does a rotation that windowed layers have for themselves. \throws
/// ArgumentError for anything else, naming the choices
void overrideRotary(ModelConfig& config, const std::string& choice);

/// The checkpoint with another rotation; the same one where `choice` is empty.
std::shared_ptr<const Checkpoint> withRotary(std::shared_ptr<const Checkpoint> checkpoint,
                                             const std::string& choice);

/// "plain, base 100,000", "gpt-oss-lite YaRN x32 from 4,096, base 100,000", "none (learned
/// positions)"; a second rotation of windowed layers is named too.
std::string rotaryText(const ModelConfig& config);

} // namespace kvscope
