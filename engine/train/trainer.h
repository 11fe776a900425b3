#pragma once

#include "engine/train/adam_w.h"
#include "engine/train/training_data.h"
#include "engine/train/training_forward.h"
#include "engine/train/training_parameters.h"
#include "engine/train/training_recipe.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace kvscope {

/// What one step was and gave. Losses are those before the step, in nats.
struct TrainingStep
{
    std::int64_t step = 0; ///< from 0
    std::size_t phase = 0;
    std::int64_t length = 0;
    std::int64_t numTokens = 0;
    double learningRate = 0.0;
    double loss = 0.0;       ///< what was minimised
    double answerLoss = 0.0; ///< mean over the digits of answers
    double textLoss = 0.0;   ///< mean over all tokens
    double balance = 0.0;    ///< TrainingOutput::balance
    double gradientNorm = 0.0;
    std::int64_t numAnswers = 0;
    std::int64_t numRight =
        0; ///< answers of which every digit is the likeliest, given those before
};

/// Trains a model by a recipe, step by step. One thread; the tensor library uses its own.
///
/// The same recipe, texts, seed and number of threads give the same steps; so does a training that
/// was saved after any step and restored.
class Trainer
{
public:
    /// \param data  tokens below the shape's vocabulary
    Trainer(TrainingRecipe recipe, std::shared_ptr<const TrainingData> data);

    const TrainingRecipe& recipe() const { return m_recipe; }
    const TrainingParameters& parameters() const { return m_parameters; }
    std::int64_t numSteps() const { return m_numSteps; } ///< done
    bool isDone() const { return m_numSteps >= m_recipe.steps(); }

    /// \pre !isDone() \throws EngineError if the loss is no longer a number
    TrainingStep step();

    /// Weights, moments and the steps done, in one file that is whole or not there.
    /// \param more  is written beside them, and passed over by restore()
    /// \throws EngineError where it cannot be written
    void save(const std::filesystem::path& file, const std::vector<NamedTensor>& more = {}) const;
    /// \throws CheckpointError if the file is damaged or of another shape
    void restore(const std::filesystem::path& file);

private:
    const TrainingForward& forwardOf(const TrainingPoint& point);

    TrainingRecipe m_recipe;
    std::shared_ptr<const TrainingData> m_data;
    TrainingParameters m_parameters;
    AdamW m_optimizer;
    std::unique_ptr<TrainingForward> m_forward; ///< of m_phase and m_window
    std::size_t m_phase = 0;
    std::int64_t m_window = 0;
    std::int64_t m_numSteps = 0;
};

} // namespace kvscope
