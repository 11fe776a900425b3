#include "engine/train/training_recipe.h"

#include "engine/checkpoint/config_object.h"
#include "engine/checkpoint/strict_json.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>
#include <string_view>

namespace kvscope {
namespace {

constexpr std::int64_t kShortestLength = 64;    ///< shorter texts have no room for passages
constexpr std::int64_t kMostSteps = 10'000'000; ///< in all; a float32 counts them exactly
constexpr std::int64_t kMostStride = 1024;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;

/// A misspelt key would be a default in silence.
void refuseOtherKeys(const ConfigObject& json, std::initializer_list<std::string_view> known)
{
    for (const auto& [key, value] : json.keys().items())
        if (std::find(known.begin(), known.end(), key) == known.end())
            json.fail(key, "is not a key of a recipe");
}

std::int64_t countOf(const ConfigObject& json, const char* key, std::int64_t least,
                     std::int64_t most, std::int64_t otherwise)
{
    const std::int64_t value = json.wholeNumber(key).value_or(otherwise);
    if (value < least || value > most)
        json.fail(key, "is " + std::to_string(value) + ", from " + std::to_string(least) + " to " +
                           std::to_string(most) + " was expected");
    return value;
}

double numberOf(const ConfigObject& json, const char* key, double least, double most,
                double otherwise)
{
    const double value = json.number(key).value_or(otherwise);
    if (!(value >= least && value <= most))
        json.fail(key, "is out of its range");
    return value;
}

std::vector<ConfigObject> sectionsOf(const ConfigObject& json, const char* key)
{
    const nlohmann::json* list = json.find(key);
    if (list == nullptr || !list->is_array() || list->empty())
        json.fail(key, "is missing, or not a list with something in it");
    std::vector<ConfigObject> sections;
    for (const nlohmann::json& one : *list) {
        if (!one.is_object())
            json.fail(key, "holds something that is not a section");
        sections.emplace_back(one, json.file(),
                              std::string(key) + "[" + std::to_string(sections.size()) + "].");
    }
    return sections;
}

bool isFolderName(const std::string& name)
{
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    return !name.empty() && name.find_first_not_of(kLetters) == std::string::npos;
}

/// What a stage has where it does not say otherwise.
struct StageDefaults
{
    std::int64_t tokensPerStep = 0;
    std::int64_t window = 0;
    double balanceWeight = 0.0;
};

TrainingShape readShape(const ConfigObject& json)
{
    refuseOtherKeys(json, {"vocabulary", "width", "layers", "heads", "kv_heads", "head_dim",
                           "experts", "active_experts", "shared_experts", "expert_dim", "window",
                           "trained_length", "rope_base"});
    constexpr std::int64_t most = std::int64_t{1} << 24;
    TrainingShape shape;
    const auto size = [&](const char* key, std::int64_t& value) {
        value = countOf(json, key, 1, most, value);
    };
    size("vocabulary", shape.vocabulary);
    size("width", shape.width);
    size("layers", shape.layers);
    size("heads", shape.heads);
    size("kv_heads", shape.kvHeads);
    size("head_dim", shape.headDim);
    size("experts", shape.experts);
    size("active_experts", shape.activeExperts);
    size("shared_experts", shape.sharedExperts);
    size("expert_dim", shape.expertDim);
    size("window", shape.window);
    size("trained_length", shape.trainedLength);
    shape.ropeBase = numberOf(json, "rope_base", 1.0, 1e12, shape.ropeBase);
    return shape;
}

TextMix readMix(const ConfigObject& json)
{
    refuseOtherKeys(json, {"prose", "echo", "one_question", "others", "crowding"});
    TextMix mix;
    mix.prose = numberOf(json, "prose", 0.0, 1.0, mix.prose);
    mix.echo = numberOf(json, "echo", 0.0, 1.0, mix.echo);
    if (mix.prose + mix.echo > 1.0)
        json.fail("echo", "and prose are more than all texts together");
    mix.oneQuestion = numberOf(json, "one_question", 0.0, 1.0, mix.oneQuestion);
    mix.others = numberOf(json, "others", 0.0, 1.0, mix.others);
    mix.crowding = numberOf(json, "crowding", 0.0, 1.0, mix.crowding);
    return mix;
}

TrainingStage readStage(const ConfigObject& json, const StageDefaults& defaults)
{
    refuseOtherKeys(json,
                    {"length", "steps", "window", "tokens_per_step", "balance_weight", "texts"});
    TrainingStage stage;
    stage.length = countOf(json, "length", kShortestLength, kMostTokens, 0);
    stage.steps = countOf(json, "steps", 1, kMostSteps, 0);
    stage.tokensPerStep = countOf(json, "tokens_per_step", 1, kMostTokens, defaults.tokensPerStep);
    stage.window = countOf(json, "window", 1, defaults.window, defaults.window);
    stage.balanceWeight = numberOf(json, "balance_weight", 0.0, 1e6, defaults.balanceWeight);
    if (const auto texts = json.section("texts"))
        stage.mix = readMix(*texts);
    return stage;
}

TrainingPhase readPhase(const ConfigObject& json, const StageDefaults& defaults)
{
    refuseOtherKeys(json, {"name", "yarn_scale", "stages", "learning_rate", "last_rate", "warm_up",
                           "most_stride"});
    TrainingPhase phase;
    phase.name = json.text("name").value_or("training");
    phase.yarnScale = numberOf(json, "yarn_scale", 1.0, 1e6, 1.0);
    for (const ConfigObject& stage : sectionsOf(json, "stages"))
        phase.stages.push_back(readStage(stage, defaults));
    phase.learningRate.peak = numberOf(json, "learning_rate", 0.0, 10.0, phase.learningRate.peak);
    phase.learningRate.floor = numberOf(json, "last_rate", 0.0, 1.0, phase.learningRate.floor);
    phase.learningRate.warmUp = countOf(json, "warm_up", 0, kMostSteps, phase.learningRate.warmUp);
    phase.mostStride = countOf(json, "most_stride", 1, kMostStride, 1);
    phase.learningRate.total = phase.steps();
    return phase;
}

std::int64_t strideOf(std::int64_t step, std::int64_t most)
{
    std::int64_t kinds = 1;
    while ((std::int64_t{1} << kinds) <= most)
        ++kinds;
    return std::int64_t{1} << step % kinds;
}

} // namespace

std::int64_t TrainingPhase::steps() const
{
    std::int64_t sum = 0;
    for (const TrainingStage& stage : stages)
        sum += stage.steps;
    return sum;
}

std::int64_t TrainingRecipe::steps() const
{
    std::int64_t sum = 0;
    for (const TrainingPhase& phase : phases)
        sum += phase.steps();
    return sum;
}

TrainingPoint TrainingRecipe::at(std::int64_t step) const
{
    TrainingPoint point;
    std::int64_t inPhase = step;
    while (inPhase >= phases[point.phase].steps())
        inPhase -= phases[point.phase++].steps();
    const TrainingPhase& phase = phases[point.phase];
    point.learningRate = phase.learningRate.at(inPhase);
    point.stride = strideOf(inPhase, phase.mostStride);
    std::size_t number = 0;
    for (std::int64_t left = inPhase; left >= phase.stages[number].steps; ++number)
        left -= phase.stages[number].steps;
    const TrainingStage& stage = phase.stages[number];
    point.length = stage.length;
    point.numSequences = std::max<std::int64_t>(1, stage.tokensPerStep / stage.length);
    point.window = stage.window > 0 ? stage.window : shape.window;
    point.balanceWeight = stage.balanceWeight;
    point.mix = stage.mix;
    return point;
}

ModelConfig TrainingRecipe::config(std::size_t phase) const
{
    TrainingShape shaped = shape;
    shaped.yarnScale = phases[phase].yarnScale;
    return modelConfig(shaped);
}

TrainingRecipe readTrainingRecipe(const std::filesystem::path& file)
{
    const ConfigObject json(readJsonObject(file), file.filename().string());
    refuseOtherKeys(json, {"name", "seed", "shape", "init_deviation", "tokens_per_step",
                           "text_weight", "balance_weight", "weight_decay", "clip_norm", "phases"});
    TrainingRecipe recipe;
    (void)json.text("name"); // for people, and for the model card
    recipe.seed = static_cast<std::uint64_t>(
        countOf(json, "seed", 0, std::numeric_limits<std::int64_t>::max(), 1));
    if (const auto shape = json.section("shape"))
        recipe.shape = readShape(*shape);
    recipe.initDeviation = numberOf(json, "init_deviation", 0.0, 1.0, recipe.initDeviation);
    recipe.textWeight = numberOf(json, "text_weight", 0.0, 1e6, recipe.textWeight);
    recipe.optimizer.weightDecay =
        numberOf(json, "weight_decay", 0.0, 1e3, recipe.optimizer.weightDecay);
    recipe.optimizer.clipNorm = numberOf(json, "clip_norm", 0.0, 1e9, recipe.optimizer.clipNorm);
    const StageDefaults defaults{
        countOf(json, "tokens_per_step", 1, kMostTokens, TrainingStage().tokensPerStep),
        recipe.shape.window,
        numberOf(json, "balance_weight", 0.0, 1e6, TrainingStage().balanceWeight)};
    for (const ConfigObject& phase : sectionsOf(json, "phases"))
        recipe.phases.push_back(readPhase(phase, defaults));
    if (recipe.steps() > kMostSteps)
        json.fail("phases", "have more steps than the 10,000,000 that are counted");
    std::set<std::string> names;
    for (const TrainingPhase& phase : recipe.phases)
        if (!isFolderName(phase.name) || !names.insert(phase.name).second ||
            !names.insert(phase.name + "-bfloat16").second)
            json.fail("phases", "need names of their own, of letters, digits, - and _");
    for (std::size_t phase = 0; phase < recipe.phases.size(); ++phase)
        (void)recipe.config(phase); // refuses a shape that no model has
    return recipe;
}

} // namespace kvscope
