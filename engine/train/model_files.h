#pragma once

#include "engine/checkpoint/model_config.h"
#include "engine/train/training_parameters.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace kvscope {

/// How the numbers of a checkpoint's weights are stored.
enum class SavedType { Float32, BFloat16 };

struct CheckpointToWrite
{
    std::int64_t step = 0; ///< N of model_step_N.safetensors
    SavedType type = SavedType::Float32;
    std::filesystem::path tokenizerModel; ///< is copied as tokenizer.model; empty: none is written
};

/// Writes a folder as a real GPT-OSS-Lite checkpoint has it: tokenizer.model, config.yaml and, last
/// of all, model_step_N.safetensors, each whole or not at all. Weights of other steps are left
/// there; the highest is opened. With a tokenizer.model, config.yaml names the begin and end pieces
/// of engine/train/vocabulary.h.
/// \throws ArgumentError for a configuration that checkpointYaml() refuses or a negative step;
/// EngineError naming the file that cannot be written or read
void writeCheckpoint(const std::filesystem::path& folder, const ModelConfig& config,
                     const TrainingParameters& parameters, const CheckpointToWrite& what);

/// The configuration as the reference's YAML, with which readGptOssLiteConfig() gives it back.
/// \throws ArgumentError where something of it cannot be said there
std::string checkpointYaml(const ModelConfig& config, SavedType type);

} // namespace kvscope
