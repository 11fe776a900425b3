#pragma once

#include "engine/train/training_parameters.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// What decides a training's losses beside its recipe. It is kept in the state, so that a training
/// which goes on with something else notices.
struct TrainingOrigin
{
    std::uint64_t prose = 0;              ///< hash
    std::uint64_t heldOut = 0;            ///< hash of the numbers
    std::int64_t numThreads = 0;          ///< of the tensor library
    at::ScalarType products = at::kFloat; ///< what products with a weight are made in
};

/// Of a training in this process with as many threads as it has now.
TrainingOrigin trainingOrigin(std::string_view prose, const std::set<std::string>& heldOut);

/// To be written into a state.
NamedTensor stateTensor(const TrainingOrigin& origin);

/// Compares a training with the one that a state is of.
/// \returns what a person should know: threads or products that differ, so that losses will not be
/// equal bit by bit; or a state that does not say what it was trained with
/// \throws ArgumentError for other prose or other held-out numbers; CheckpointError for a damaged
/// state
std::vector<std::string> compareWithState(const TrainingOrigin& now,
                                          const std::filesystem::path& state);

} // namespace kvscope
