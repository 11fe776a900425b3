#pragma once

#include "engine/checkpoint/tensor_file.h"

#include <cstddef>
#include <cstdint>

namespace kvscope {

/// Whether a weight matrix may have this storage: F32, F16, BF16, Q8_0, Q4_0, Q4_1.
bool isWeightType(StorageType type);

/// Bytes of one row of `cols` elements; cols is a multiple of the type's block.
std::int64_t bytesPerRow(StorageType type, std::int64_t cols);

/// A block of 32 weights taken apart: weight i is scale * integers[i] + offset.
struct BlockFactors
{
    float scale = 0;
    float offset = 0; ///< 0 but in Q4_1
};

/// Takes one block of a block format apart. \param integers  [32]
BlockFactors readBlock(StorageType type, const std::byte* block, std::int8_t* integers);

/// Expands one row of a weight type to float32, bit for bit as ggml does: the reference for every
/// other way of reading weights.
/// \param row  bytesPerRow(type, cols) bytes at any alignment
/// \param out  [cols]
void decodeRow(StorageType type, const std::byte* row, float* out, std::int64_t cols);

} // namespace kvscope
