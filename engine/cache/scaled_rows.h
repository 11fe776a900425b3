#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>

// Keys and values in eight bits, int8 or fp8 (e4m3, at::kFloat8_e4m3fn): the D numbers of one head
// and position have one scale, which lies behind them. An array [B, Hkv, S, D] is then one of the
// type [B, Hkv, S, D + 4], so that rings, growing arrays and views handle it as any other.

namespace kvscope {

/// Bytes of a row's scale, a float32 (at any address).
inline constexpr std::int64_t kScaleBytes = 4;

/// Whether rows of `type` have a scale behind them.
inline bool hasScales(at::ScalarType type)
{
    return type == at::kChar || type == at::kFloat8_e4m3fn;
}

/// Elements of one row of `headDim` numbers in an array of `type`.
inline std::int64_t rowElements(at::ScalarType type, std::int64_t headDim)
{
    return hasScales(type) ? headDim + kScaleBytes : headDim;
}

/// How a cache of `type` is called: "bfloat16", "int8", "fp8".
const char* cacheTypeName(at::ScalarType type);

/// Rounds a row of D floats to numbers of eight bits and their scale. A row with a number that is
/// not finite becomes NaN as a whole.
///
/// int8: to the nearest of 255 even steps, numbers of -127 to 127 times largest / 127. fp8: to the
/// nearest e4m3 (Micikevicius et al. 2022, table 1: four bits of exponent, three of mantissa, up to
/// 448) times largest / 448, which moves a number above largest / 28,672 by at most 1/17 of itself,
/// where int8 moves it by at most 1/254 of the largest. No number is stored as e4m3's NaN.
/// \param to  D + kScaleBytes bytes
/// \param type  one that hasScales()
void quantizeRow(std::byte* to, const float* row, std::int64_t headDim, at::ScalarType type);

/// The same of [..., D] to [..., D + 4] of `type`, by tensor operations on any device: the
/// definition.
at::Tensor quantizedRows(const at::Tensor& rows, at::ScalarType type);

/// Cached keys or values as numbers: [..., D] in `type`, whatever they are stored as.
at::Tensor cachedNumbers(const at::Tensor& rows, at::ScalarType type);

} // namespace kvscope
