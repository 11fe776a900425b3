#pragma once

#include "engine/checkpoint/tensor_file.h"
#include "engine/kernels/linear/block_readers.h"

#include <cstddef>
#include <cstdint>

namespace kvscope {

/// Bytes of one row of `cols` elements; cols is a multiple of the type's block.
std::int64_t bytesPerRow(StorageType type, std::int64_t cols);

/// Takes weights [32 group, 32 group + 32) of a row of a block format apart.
/// \param row  at any alignment
/// \param integers  [32]
GroupFactors readGroup(StorageType type, const std::byte* row, std::int64_t group,
                       std::int8_t* integers);

/// Expands one row of a weight type to float32, bit for bit as ggml does: the reference for every
/// other way of reading weights.
/// \param row  bytesPerRow(type, cols) bytes at any alignment
/// \param out  [cols]
void decodeRow(StorageType type, const std::byte* row, float* out, std::int64_t cols);

} // namespace kvscope
