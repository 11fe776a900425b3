#pragma once

#include "engine/train/trainer.h"

#include <filesystem>
#include <functional>
#include <set>
#include <stop_token>
#include <string>

namespace kvscope {

/// What a training starts from.
struct TrainingInput
{
    std::filesystem::path recipe;  ///< JSON
    std::string prose;             ///< UTF-8
    std::set<std::string> heldOut; ///< numbers that are never trained with
};

/// Where a training stands.
struct TrainingProgress
{
    TrainingStep step; ///< the newest
    std::string phase;
    std::int64_t numSteps = 0; ///< of all
    double tokensPerSecond = 0.0;
    double secondsLeft = 0.0; ///< estimated from the tokens per second of late
};
/// Each may be empty.
struct TrainingObserver
{
    std::function<void(const TrainingProgress&)> progressed; ///< after every step
    /// Something that a person should know before the first step: compareWithState()
    std::function<void(const std::string&)> noticed;
};

/// Trains in a folder, or goes on with what is there.
///
/// One training at a time has the folder. In it lie recipe.json (a copy, so that another recipe is
/// refused), tokenizer.model (made first), training.safetensors (the state, every two minutes and
/// at a stop), loss.csv, and at the end of each phase NAME/ with a whole checkpoint of it, in
/// float32, and NAME-bfloat16/ with the same to be shipped.
///
/// \param stopBefore  a step to stop before, saved
/// \returns whether it came to its end
/// \throws ArgumentError for a folder with another recipe, other texts or another training at work
/// in it, and as its parts do
bool runTraining(const TrainingInput& input, const std::filesystem::path& folder,
                 std::int64_t stopBefore, const TrainingObserver& observer, std::stop_token stop);

} // namespace kvscope
