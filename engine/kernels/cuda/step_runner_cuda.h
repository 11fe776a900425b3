#pragma once

#include "engine/kernels/cuda/step_runner.h"

#include <c10/core/Device.h>

#include <memory>

namespace kvscope {

/// A StepRunner whose launches are run one by one the first time, which also loads their kernels,
/// and from the second time on as a CUDA graph. \param device  with its index
std::unique_ptr<StepRunner> makeCudaStepRunner(c10::Device device);

} // namespace kvscope
