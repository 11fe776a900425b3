#pragma once

#include "engine/checkpoint/tensor_file.h"

#include <cstddef>
#include <cstdint>

namespace kvscope {

/// Neighbouring weights that are taken apart at a time: a block of the small formats, an eighth of
/// a block of the K formats.
constexpr std::int64_t kGroup = 32;

/// Bytes of one row of `cols` elements; cols is a multiple of the type's block.
std::int64_t bytesPerRow(StorageType type, std::int64_t cols);

/// The factors of a group, one for each half: weight i is
/// scales[i / 16] * integers[i] + offsets[i / 16].
struct GroupFactors
{
    float scales[2] = {};
    float offsets[2] = {}; ///< 0 but where hasOffsets()
};

/// Whether weights of a block format have an offset: Q4_1, Q5_1, Q2_K, Q4_K and Q5_K. Adding the
/// others' 0 would make +0 of -0.
bool hasOffsets(StorageType type);

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
