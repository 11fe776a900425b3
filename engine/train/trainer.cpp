#include "engine/train/trainer.h"

#include "engine/base/errors.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <utility>

namespace kvscope {
namespace {

constexpr const char* kStepsName = "steps_done";

/// Answers of which no token was wrong.
std::int64_t numRightAnswers(const at::Tensor& logits, const at::Tensor& targets,
                             const at::Tensor& answers, std::int64_t numAnswers)
{
    const c10::NoGradGuard noGradient;
    const at::Tensor places = answers.nonzero().view({-1});
    const at::Tensor isWrong =
        logits.index_select(0, places).argmax(-1).ne(targets.index_select(0, places));
    const at::Tensor wrongTokens =
        at::zeros({numAnswers + 1}, at::kFloat)
            .index_add_(0, answers.index_select(0, places), isWrong.to(at::kFloat));
    return numAnswers - wrongTokens.slice(0, 1).gt(0.0).sum().item<std::int64_t>();
}

} // namespace

Trainer::Trainer(TrainingRecipe recipe, std::shared_ptr<const TrainingData> data)
    : m_recipe(std::move(recipe))
    , m_data(std::move(data))
    , m_parameters(m_recipe.config(0), m_recipe.initDeviation, m_recipe.seed)
    , m_optimizer(m_parameters, m_recipe.optimizer)
{
}

const TrainingForward& Trainer::forwardOf(const TrainingPoint& point)
{
    if (!m_forward || point.phase != m_phase || point.window != m_window) {
        ModelConfig config = m_recipe.config(point.phase);
        for (LayerConfig& layer : config.layers)
            if (layer.kind == LayerKind::Windowed)
                layer.window = point.window;
        m_forward = std::make_unique<TrainingForward>(std::move(config), trainingProducts());
        m_phase = point.phase;
        m_window = point.window;
    }
    return *m_forward;
}

TrainingStep Trainer::step()
{
    const TrainingPoint point = m_recipe.at(m_numSteps);
    const TrainingBatch batch =
        m_data->batch(m_numSteps, point.numSequences, point.length, point.mix);
    const TrainingForward& forward = forwardOf(point);
    const TrainingOutput output = forward(m_parameters, batch.ids, point.stride);
    const at::Tensor logits = forward.logits(m_parameters, output.hidden);
    const at::Tensor targets = batch.targets.flatten();
    const at::Tensor answers = batch.answers.flatten();
    const at::Tensor nll =
        at::cross_entropy_loss(logits, targets, std::nullopt, at::Reduction::None);
    const at::Tensor weights = batch.weights.flatten();
    const at::Tensor foundLoss = (nll * weights).sum() / weights.sum();
    const at::Tensor textLoss = nll.mean();
    const at::Tensor loss =
        foundLoss + m_recipe.textWeight * textLoss + point.balanceWeight * output.balance;
    TrainingStep done{.step = m_numSteps,
                      .phase = point.phase,
                      .length = point.length,
                      .numTokens = point.numSequences * point.length,
                      .learningRate = point.learningRate,
                      .loss = loss.item<double>(),
                      .answerLoss = nll.detach().masked_select(answers.gt(0)).mean().item<double>(),
                      .textLoss = textLoss.item<double>(),
                      .balance = output.balance.item<double>(),
                      .numAnswers = batch.numAnswers};
    if (!std::isfinite(done.loss))
        throw EngineError("the loss of step " + std::to_string(m_numSteps) +
                          " is not a number: the learning rate may be too high");
    done.numRight = numRightAnswers(logits, targets, answers, batch.numAnswers);
    loss.backward();
    done.gradientNorm = m_optimizer.step(m_parameters, point.learningRate);
    ++m_numSteps;
    return done;
}

void Trainer::save(const std::filesystem::path& file, const std::vector<NamedTensor>& more) const
{
    std::vector<NamedTensor> tensors = m_optimizer.state(m_parameters);
    for (const TrainingParameter& parameter : m_parameters.all())
        tensors.push_back({parameter.name, parameter.value});
    // Exact to 2^24 steps, more than a recipe may have.
    tensors.push_back({kStepsName, at::full({1}, static_cast<double>(m_numSteps), at::kFloat)});
    tensors.insert(tensors.end(), more.begin(), more.end());
    writeTensors(file, tensors);
}

void Trainer::restore(const std::filesystem::path& file)
{
    loadParameters(m_parameters, file);
    std::vector<NamedTensor> state = m_optimizer.state(m_parameters);
    state.push_back({kStepsName, at::zeros({1}, at::kFloat)});
    loadTensors(state, file);
    m_numSteps = static_cast<std::int64_t>(state.back().value.item<double>());
    if (m_numSteps < 0 || m_numSteps > m_recipe.steps())
        throw CheckpointError(file.string() + ": " + std::to_string(m_numSteps) +
                              " steps were done, the recipe has " +
                              std::to_string(m_recipe.steps()));
    m_optimizer.setNumSteps(m_numSteps);
}

} // namespace kvscope
