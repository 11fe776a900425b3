#include "engine/train/adam_w.h"

#include "engine/base/errors.h"

#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kvscope {
namespace {

double squaredLength(const at::Tensor& gradient)
{
    return gradient.defined() ? gradient.square().sum().item<double>() : 0.0;
}

} // namespace

AdamW::AdamW(const TrainingParameters& parameters, AdamWSettings settings)
    : m_settings(settings)
{
    const c10::NoGradGuard noGradient;
    for (const TrainingParameter& parameter : parameters.all()) {
        m_first.push_back(at::zeros_like(parameter.value));
        m_second.push_back(at::zeros_like(parameter.value));
    }
}

double AdamW::step(const TrainingParameters& parameters, double learningRate)
{
    const c10::NoGradGuard noGradient;
    double length = 0.0;
    for (const TrainingParameter& parameter : parameters.all())
        length += squaredLength(parameter.value.grad());
    length = std::sqrt(length);
    if (!std::isfinite(length))
        throw EngineError("the gradient of step " + std::to_string(m_numSteps) +
                          " is not a number: the learning rate may be too high");
    const bool isCut = m_settings.clipNorm > 0.0 && length > m_settings.clipNorm;
    const double scale = isCut ? m_settings.clipNorm / length : 1.0;
    ++m_numSteps;
    const auto steps = static_cast<double>(m_numSteps);
    const double firstBias = 1.0 - std::pow(m_settings.beta1, steps);
    const double secondBias = std::sqrt(1.0 - std::pow(m_settings.beta2, steps));
    for (std::size_t i = 0; i < parameters.all().size(); ++i) {
        at::Tensor value = parameters.all()[i].value;
        if (!value.grad().defined())
            continue; // an expert that no token visited
        const at::Tensor gradient = value.grad().mul(scale);
        if (parameters.all()[i].decays)
            value.mul_(1.0 - learningRate * m_settings.weightDecay);
        m_first[i].lerp_(gradient, 1.0 - m_settings.beta1);
        m_second[i].mul_(m_settings.beta2).addcmul_(gradient, gradient, 1.0 - m_settings.beta2);
        value.addcdiv_(m_first[i], m_second[i].sqrt().div_(secondBias).add_(m_settings.epsilon),
                       -learningRate / firstBias);
        value.mutable_grad() = at::Tensor();
    }
    return length;
}

std::vector<NamedTensor> AdamW::state(const TrainingParameters& parameters) const
{
    std::vector<NamedTensor> all;
    for (std::size_t i = 0; i < m_first.size(); ++i) {
        all.push_back({"first." + parameters.all()[i].name, m_first[i]});
        all.push_back({"second." + parameters.all()[i].name, m_second[i]});
    }
    return all;
}

double LearningRate::at(std::int64_t step) const
{
    if (step < warmUp)
        return peak * static_cast<double>(step + 1) / static_cast<double>(warmUp);
    const double done = static_cast<double>(step - warmUp) /
                        static_cast<double>(std::max<std::int64_t>(1, total - warmUp));
    const double wave = 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(1.0, done)));
    return peak * (floor + (1.0 - floor) * wave);
}

} // namespace kvscope
