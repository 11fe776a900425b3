#pragma once

#include "engine/train/adam_w.h"
#include "engine/train/text_mix.h"
#include "engine/train/training_shape.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kvscope {

/// Steps with sequences of one length.
struct TrainingStage
{
    std::int64_t length = 0; ///< tokens of a sequence
    std::int64_t steps = 0;
    std::int64_t tokensPerStep = 6144;
    /// Positions that windowed layers see meanwhile, at most the shape's window; 0: that. A narrow
    /// one comes first: what a layer takes in from everywhere in a wide window, before it has
    /// learned what to look for, tells nothing; and what lies outside is left to the global layers.
    std::int64_t window = 0;
    /// Of the experts' load-balancing loss. Small at first: experts that are held even before they
    /// differ keep heads from learning what to look for.
    double balanceWeight = 0.01;
    TextMix mix;
};

/// Stages under one learning rate curve and one rotation.
struct TrainingPhase
{
    std::string name;
    double yarnScale = 1.0; ///< 1: the plain rotation
    /// Steps take 1, 2, 4, ... up to this in turn as TrainingForward's stride.
    std::int64_t mostStride = 1;
    LearningRate learningRate;
    std::vector<TrainingStage> stages;

    std::int64_t steps() const;
};

/// Where a step lies in a recipe.
struct TrainingPoint
{
    std::size_t phase = 0;
    std::int64_t length = 0;       ///< tokens of a sequence
    std::int64_t numSequences = 0; ///< in a step
    std::int64_t window = 0;       ///< of windowed layers
    double balanceWeight = 0.0;
    TextMix mix;
    double learningRate = 0.0;
    std::int64_t stride = 1; ///< as TrainingForward
};

/// Everything that decides what a training gives, but for the texts.
struct TrainingRecipe
{
    std::uint64_t seed = 1;
    TrainingShape shape; ///< its yarnScale is that of the phase
    double initDeviation = 0.02;
    double textWeight = 0.2; ///< of the mean loss over all tokens, beside that of the answers
    AdamWSettings optimizer;
    std::vector<TrainingPhase> phases;

    std::int64_t steps() const;
    /// \pre 0 <= step < steps()
    TrainingPoint at(std::int64_t step) const;
    /// The model's configuration as a phase leaves it.
    ModelConfig config(std::size_t phase) const;
};

/// Reads a recipe from JSON; resources/demo/recipe.json shows the keys.
/// \throws CheckpointError naming the file and the key, ArgumentError for a shape no model has
TrainingRecipe readTrainingRecipe(const std::filesystem::path& file);

} // namespace kvscope
