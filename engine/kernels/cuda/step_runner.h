#pragma once

#include "engine/kernels/cuda/step_launches.h"

#include <span>

namespace kvscope {

/// Runs a decode step's launches on one device, step after step: the CUDA module's as a graph that
/// is captured once and replayed, a test's on the CPU. Engine thread.
class StepRunner
{
public:
    virtual ~StepRunner() = default;

    /// Queues the launches, in order, behind what the device's current stream has.
    /// \param areNew  whether they differ from those of the call before
    /// \throws c10::Error
    virtual void run(std::span<const StepLaunch> launches, bool areNew) = 0;
    /// Of the device, for splits.
    virtual int multiprocessors() const = 0;
};

} // namespace kvscope
