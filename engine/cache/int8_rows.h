#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>

// Keys and values in int8: the D numbers of one head and position have one scale, which lies behind
// them. An array [B, Hkv, S, D] is then one of int8 [B, Hkv, S, D + 4], so that rings, growing
// arrays and views handle it as any other.

namespace kvscope {

/// Bytes of a row's scale, a float32 (at any address).
inline constexpr std::int64_t kScaleBytes = 4;

/// Elements of one row of `headDim` numbers in an array of `type`.
inline std::int64_t rowElements(at::ScalarType type, std::int64_t headDim)
{
    return type == at::kChar ? headDim + kScaleBytes : headDim;
}

/// How a cache of `type` is called: "bfloat16", "int8".
const char* cacheTypeName(at::ScalarType type);

/// Rounds a row of D floats to the nearest of 255 even steps from -largest to largest: numbers of
/// -127 to 127, times largest / 127. A row with a number that is not finite becomes NaN as a whole.
/// \param to  D + kScaleBytes bytes
void quantizeRow(std::byte* to, const float* row, std::int64_t headDim);

/// The same of [..., D] to int8 [..., D + 4], by tensor operations on any device: the definition.
at::Tensor quantizedRows(const at::Tensor& rows);

/// Cached keys or values as numbers: [..., D] in `type`, whatever they are stored as.
at::Tensor cachedNumbers(const at::Tensor& rows, at::ScalarType type);

} // namespace kvscope
