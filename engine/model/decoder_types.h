#pragma once

#include "engine/model/decoder.h"

#include <ATen/core/Tensor.h>

#include <string>

// What the words of DecoderOptions stand for.

namespace kvscope {

/// "auto", "float32", "bfloat16", "float16". \throws ArgumentError
ComputeType computeTypeFrom(const std::string& name);
/// "auto", "float32", "bfloat16", "float16", "int8" or "fp8". \throws ArgumentError for another
/// name
CacheType cacheTypeFrom(const std::string& name);
/// What keys and values of that name are stored as where products run in that dtype.
/// \throws ArgumentError for another name
at::ScalarType cacheTypeIn(const Checkpoint& checkpoint, const std::string& dtype,
                           const std::string& cacheDtype);

/// The device of that name; makes CUDA's kernels ready where it is one of those.
/// \throws ArgumentError for a name that is none
at::Device parsedDevice(const std::string& name);

/// Auto follows a file that is float32 throughout; anything else computes in the fast default.
ComputeType resolvedType(const Checkpoint& checkpoint, ComputeType asked);

/// "bfloat16 weights"; "Q4_1, F32 weights, plain ones as bfloat16" where blocks stay as they are.
std::string weightsText(const Checkpoint& checkpoint, ComputeType compute);

/// What keys and values are stored as where products run in `compute`.
at::ScalarType cacheScalarType(CacheType cache, ComputeType compute);

/// Of one logit or score while it is computed: activations on the CPU are float32 whatever is
/// stored. \param compute  resolved
std::int64_t logitBytes(ComputeType compute, at::Device device);

} // namespace kvscope
