#include "app/stop_at_signals.h"
#include "app/thread_environment.h"
#include "engine/base/errors.h"
#include "engine/base/heap.h"
#include "engine/base/resource_folder.h"
#include "engine/base/units.h"
#include "engine/lab/lab_resources.h"
#include "engine/lab/passkey_task.h"
#include "engine/lab/sweep_request.h"
#include "engine/train/training_run.h"
#include "engine/train/whole_file.h"

#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <limits>

using namespace kvscope;

namespace {

constexpr std::int64_t kStepsBetweenLines = 20;
/// The lengths that passkey accuracies are stated at, and how many keys of each are kept out.
constexpr std::int64_t kShortestLength = 128;
constexpr std::int64_t kLongestLength = 131072;
constexpr std::int64_t kHeldOutKeys = 200;

struct Options
{
    std::string recipe;
    std::string folder;
    std::vector<std::filesystem::path> texts;
    std::int64_t steps = std::numeric_limits<std::int64_t>::max();
    int threads = 0;
};

/// In an order that does not depend on the file system.
std::vector<std::filesystem::path> builtInTexts()
{
    const std::filesystem::path folder = resourceFolder() / "texts" / "training";
    return {folder / "emma.txt", folder / "pride_and_prejudice.txt"};
}

/// Keys and answers that the evaluation uses.
std::set<std::string> heldOutNumbers()
{
    std::set<std::string> numbers;
    for (std::int64_t length = kShortestLength; length <= kLongestLength; length *= 2)
        numbers.merge([&] {
            const auto keys = passkeys(kPasskeySeed, length, kHeldOutKeys);
            return std::set<std::string>(keys.begin(), keys.end());
        }());
    const NeedleMaterial material = readNeedleMaterial(resourceFolder() / "needle" / "facts.json");
    for (const NeedleFact& fact : material.facts)
        numbers.insert(fact.answer);
    return numbers;
}

void printProgress(const TrainingProgress& progress)
{
    const TrainingStep& step = progress.step;
    if ((step.step + 1) % kStepsBetweenLines != 0 && step.step + 1 != progress.numSteps)
        return;
    std::cerr << progress.phase << ", step " << formatCount(step.step + 1) << " of "
              << formatCount(progress.numSteps) << ", length " << formatCount(step.length)
              << ": answers " << step.numRight << "/" << step.numAnswers << ", loss "
              << step.answerLoss << " (text " << step.textLoss << ", balance " << step.balance
              << "), " << formatCount(static_cast<std::int64_t>(progress.tokensPerSecond))
              << " tokens/s, " << formatSeconds(progress.secondsLeft) << " left" << std::endl;
}

int train(const Options& options, const std::stop_token& stop)
{
    if (options.threads > 0)
        at::set_num_threads(options.threads);
    TrainingInput input;
    input.recipe = options.recipe.empty() ? resourceFolder() / "demo" / "recipe.json"
                                          : std::filesystem::path(options.recipe);
    for (const std::filesystem::path& file : options.texts.empty() ? builtInTexts() : options.texts)
        input.prose += (input.prose.empty() ? "" : "\n\n") + readWholeFile(file);
    input.heldOut = heldOutNumbers();
    const TrainingObserver observer{printProgress, [](const std::string& notice) {
                                        std::cerr << "note: " << notice << std::endl;
                                    }};
    const bool isDone = runTraining(input, options.folder, options.steps, observer, stop);
    if (!isDone)
        std::cerr << "stopped; the same command goes on from here" << std::endl;
    return !isDone && stop.stop_requested() ? 130 : 0;
}

} // namespace

int main(int argc, char** argv)
{
    settleThreadEnvironment(argv);
    keepFreedMemory();
    const std::stop_token stop = stopAtSignals();
    CLI::App app("Trains a model of GPT-OSS-Lite's architecture that finds numbers in long texts",
                 "kvscope-train");
    Options options;
    app.add_option("RECIPE", options.recipe, "what to train (default: the demo model's)")
        ->check(CLI::ExistingFile);
    app.add_option("--text", options.texts,
                   "UTF-8 prose to train with (default: the built-in novels)")
        ->check(CLI::ExistingFile);
    app.add_option("--out", options.folder,
                   "folder for the checkpoints; a training in it is gone on with")
        ->required();
    app.add_option("--stop-before", options.steps, "stop before this step; to go on later")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--threads", options.threads, "processor threads (default: one per core)")
        ->check(CLI::Range(1, 1024));
    CLI11_PARSE(app, argc, argv);
    try {
        return train(options, stop);
    } catch (const std::exception& error) {
        std::cerr << "error: " << error.what() << std::endl;
        return 1;
    }
}
