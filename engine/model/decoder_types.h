#pragma once

#include "engine/model/decoder.h"

#include <ATen/core/Tensor.h>

#include <string>

// What the words of DecoderOptions stand for.

namespace kvscope {

/// The device of that name; makes CUDA's kernels ready where it is one of those.
/// \throws ArgumentError for a name that is none
at::Device parsedDevice(const std::string& name);

/// Auto follows a file that is float32 throughout; anything else computes in the fast default.
ComputeType resolvedType(const Checkpoint& checkpoint, ComputeType asked);

/// "bfloat16 weights"; "Q4_1, F32 weights, plain ones as bfloat16" where blocks stay as they are.
std::string weightsText(const Checkpoint& checkpoint, ComputeType compute);

/// What keys and values are stored as where products run in `compute`.
at::ScalarType cacheScalarType(CacheType cache, ComputeType compute);

} // namespace kvscope
