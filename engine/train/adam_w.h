#pragma once

#include "engine/train/training_parameters.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kvscope {

struct AdamWSettings
{
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double weightDecay = 0.01; ///< of matrices alone
    double clipNorm = 1.0;     ///< the gradient's length is cut to this; 0: never
};

/// AdamW with decoupled weight decay and a clipped gradient.
/// Source: Loshchilov and Hutter 2019 (1711.05101).
class AdamW
{
public:
    AdamW(const TrainingParameters& parameters, AdamWSettings settings);

    /// One step with the gradients there are, which are then forgotten. \returns the gradient's
    /// length before it was cut \throws EngineError where that is not a
    /// number; nothing is changed then
    double step(const TrainingParameters& parameters, double learningRate);

    std::int64_t numSteps() const { return m_numSteps; }
    /// First and second moments by parameter: the optimizer's own tensors, to be written to a file
    /// or filled from one.
    std::vector<NamedTensor> state(const TrainingParameters& parameters) const;
    /// Of moments that were filled from a file.
    void setNumSteps(std::int64_t numSteps) { m_numSteps = numSteps; }

private:
    AdamWSettings m_settings;
    std::vector<at::Tensor> m_first;
    std::vector<at::Tensor> m_second;
    std::int64_t m_numSteps = 0;
};

/// Rises linearly over `warmUp` steps to `peak`, then falls by half a cosine to `peak * floor` at
/// `total`.
struct LearningRate
{
    double peak = 2e-3;
    double floor = 0.1;
    std::int64_t warmUp = 50;
    std::int64_t total = 1000;

    /// \param step  from 0
    double at(std::int64_t step) const;
};

} // namespace kvscope
