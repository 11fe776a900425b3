#include "engine/train/training_run.h"

#include "engine/base/errors.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/train/folder_lock.h"
#include "engine/train/model_files.h"
#include "engine/train/training_log.h"
#include "engine/train/training_origin.h"
#include "engine/train/vocabulary.h"
#include "engine/train/whole_file.h"

#include <chrono>
#include <optional>
#include <utility>

namespace kvscope {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr std::chrono::minutes kBetweenSaves{2};
/// Weight of the newest step in the running mean of a token's seconds.
constexpr double kNewest = 0.05;

void keepRecipe(const fs::path& recipe, const fs::path& folder)
{
    const fs::path kept = folder / "recipe.json";
    const std::string text = readWholeFile(recipe);
    if (!fs::exists(kept))
        writeWholeFile(kept, text);
    else if (readWholeFile(kept) != text)
        throw ArgumentError(folder.string() + ": holds a training by another recipe");
}

fs::path stateFile(const fs::path& folder)
{
    return folder / "training.safetensors";
}

std::shared_ptr<const TrainingData> dataOf(const TrainingRecipe& recipe, const TrainingInput& input,
                                           const fs::path& folder)
{
    const fs::path vocabulary = folder / "tokenizer.model";
    if (!fs::exists(vocabulary))
        trainVocabulary(input.prose, {.size = recipe.shape.vocabulary}, vocabulary);
    return std::make_shared<TrainingData>(openTokenizer(vocabulary, recipe.shape.vocabulary),
                                          input.prose, input.heldOut, kEndPiece, recipe.seed);
}

/// Tokens of the steps from `step` on.
std::int64_t tokensLeft(const TrainingRecipe& recipe, std::int64_t step)
{
    std::int64_t sum = 0;
    for (; step < recipe.steps(); ++step) {
        const TrainingPoint point = recipe.at(step);
        sum += point.numSequences * point.length;
    }
    return sum;
}

class Run
{
public:
    Run(TrainingRecipe recipe, std::shared_ptr<const TrainingData> data, fs::path folder,
        NamedTensor origin)
        : m_trainer(std::move(recipe), std::move(data))
        , m_folder(std::move(folder))
        , m_origin(std::move(origin))
    {
        if (fs::exists(stateFile(m_folder)))
            m_trainer.restore(stateFile(m_folder));
        else
            save(); // from now on the folder is for these texts
        m_log.emplace(m_folder / "loss.csv", m_trainer.numSteps());
        m_tokensLeft = tokensLeft(m_trainer.recipe(), m_trainer.numSteps());
    }

    bool untilDone(std::int64_t stopBefore, const TrainingObserver& observer, std::stop_token stop)
    {
        auto saved = Clock::now();
        while (!m_trainer.isDone()) {
            if (stop.stop_requested() || m_trainer.numSteps() >= stopBefore) {
                save();
                return false;
            }
            const TrainingStep step = oneStep(observer);
            const bool endsPhase = m_trainer.isDone() ||
                                   m_trainer.recipe().at(m_trainer.numSteps()).phase != step.phase;
            if (endsPhase)
                writePhase(step.phase);
            if (endsPhase || Clock::now() - saved > kBetweenSaves) {
                save();
                saved = Clock::now();
            }
        }
        return true;
    }

private:
    void save() const { m_trainer.save(stateFile(m_folder), {m_origin}); }

    TrainingStep oneStep(const TrainingObserver& observer)
    {
        const auto begin = Clock::now();
        const TrainingStep step = m_trainer.step();
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        const double each = seconds / static_cast<double>(step.numTokens);
        m_secondsPerToken = m_secondsPerToken > 0.0
                                ? m_secondsPerToken + kNewest * (each - m_secondsPerToken)
                                : each;
        m_tokensLeft -= step.numTokens;
        const TrainingRecipe& recipe = m_trainer.recipe();
        m_log->append(step, recipe.phases[step.phase].name, seconds);
        if (observer.progressed)
            observer.progressed(
                {.step = step,
                 .phase = recipe.phases[step.phase].name,
                 .numSteps = recipe.steps(),
                 .tokensPerSecond = 1.0 / m_secondsPerToken,
                 .secondsLeft = static_cast<double>(m_tokensLeft) * m_secondsPerToken});
        return step;
    }

    void writePhase(std::size_t phase) const
    {
        const TrainingRecipe& recipe = m_trainer.recipe();
        const ModelConfig config = recipe.config(phase);
        for (const auto& [suffix, type] :
             {std::pair("", SavedType::Float32), std::pair("-bfloat16", SavedType::BFloat16)})
            writeCheckpoint(m_folder / (recipe.phases[phase].name + suffix), config,
                            m_trainer.parameters(),
                            {.step = m_trainer.numSteps(),
                             .type = type,
                             .tokenizerModel = m_folder / "tokenizer.model"});
    }

    Trainer m_trainer;
    fs::path m_folder;
    NamedTensor m_origin;
    std::optional<TrainingLog> m_log;
    std::int64_t m_tokensLeft = 0;
    double m_secondsPerToken = 0.0;
};

} // namespace

bool runTraining(const TrainingInput& input, const fs::path& folder, std::int64_t stopBefore,
                 const TrainingObserver& observer, std::stop_token stop)
{
    TrainingRecipe recipe = readTrainingRecipe(input.recipe);
    fs::create_directories(folder);
    const FolderLock lock(folder);
    keepRecipe(input.recipe, folder);
    const TrainingOrigin origin = trainingOrigin(input.prose, input.heldOut);
    if (fs::exists(stateFile(folder)))
        for (const std::string& notice : compareWithState(origin, stateFile(folder)))
            if (observer.noticed)
                observer.noticed(notice);
    auto data = dataOf(recipe, input, folder);
    return Run(std::move(recipe), std::move(data), folder, stateTensor(origin))
        .untilDone(stopBefore, observer, stop);
}

} // namespace kvscope
