#pragma once

#include "engine/checkpoint/tensor_file.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kvscope {

/// A linear layer's weight [out, in] in the storage it has in memory.
///
/// F32, BF16 and F16 hold a tensor [out, in] of that type. Block formats hold their file's bytes,
/// uint8 [out, in / blockElements * blockBytes], and are never expanded as a whole.
struct WeightMatrix
{
    StorageType type = StorageType::F32;
    std::int64_t rows = 0; ///< out
    std::int64_t cols = 0; ///< in; a multiple of the block's elements
    at::Tensor data;

    std::uint64_t bytes() const { return data.nbytes(); }
};

/// How much a product may round.
enum class Precision {
    Exact, ///< float32 inputs, weights expanded to float32: agrees with float32 arithmetic to
           ///< rounding
    Fast,  ///< 14 to 16 bits of what is multiplied, sums in float32: block formats multiply with
           ///< inputs rounded to 16-bit integers per block of 32; of large products VNNI takes both
           ///< sides as integers of 14 bits (panel_integers.h), AMX as two bfloat16 (panel_amx.h)
};

} // namespace kvscope
