#include "engine/cache/scaled_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <c10/util/Exception.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace kvscope {
namespace {

constexpr float kInt8Largest = 127.0F;
constexpr float kFp8Largest = 448.0F; // of e4m3
// Below, the scale's inverse would not be a number; such a row is zeros.
constexpr float kSmallestLargest = 1e-30F;

/// The largest magnitude; not finite where any of them is not: as integers, infinities and NaN are
/// above every number.
float largestMagnitude(const float* row, std::int64_t headDim)
{
    std::int32_t largest = 0;
#pragma omp simd reduction(max : largest)
    for (std::int64_t i = 0; i < headDim; ++i) {
        const std::int32_t magnitude = std::bit_cast<std::int32_t>(row[i]) & 0x7fffffff;
        largest = magnitude > largest ? magnitude : largest;
    }
    return std::bit_cast<float>(largest);
}

/// What the largest number of a row becomes.
float largestOf(at::ScalarType type)
{
    TORCH_CHECK(hasScales(type), "rows of ", type, " have no scale");
    return type == at::kChar ? kInt8Largest : kFp8Largest;
}

/// Adding 1.5 * 2^23 rounds to an integer, to nearest even, and leaves it in the low bits.
void roundToInt8(std::byte* to, const float* row, std::int64_t headDim, float inverse)
{
    auto* numbers = reinterpret_cast<std::int8_t*>(to);
#pragma omp simd
    for (std::int64_t i = 0; i < headDim; ++i)
        numbers[i] = static_cast<std::int8_t>(
            std::bit_cast<std::uint32_t>(row[i] * inverse + 0x1.8p23F) & 0xffu);
}

/// To nearest even, as c10::Float8_e4m3fn rounds, without its branches, so that it is done in
/// vectors. Nothing is above 448 but by a rounding, which takes it back there.
void roundToFp8(std::byte* to, const float* row, std::int64_t headDim, float inverse)
{
    auto* numbers = reinterpret_cast<std::uint8_t*>(to);
#pragma omp simd
    for (std::int64_t i = 0; i < headDim; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(row[i] * inverse);
        const std::uint32_t magnitude = bits & 0x7fffffffu;
        // The exponent's bias goes from 127 to 7, the mantissa from 23 bits to 3.
        const std::uint32_t normal =
            (magnitude - (120u << 23) + 0x7ffffu + ((magnitude >> 20) & 1u)) >> 20;
        // Below 2^-6 steps are 2^-9, those of floats from 2^14 on.
        const std::uint32_t subnormal =
            std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0x1p14F) & 0xffu;
        const std::uint32_t rounded = magnitude < (121u << 23) ? subnormal : normal;
        numbers[i] = static_cast<std::uint8_t>(rounded | ((bits >> 24) & 0x80u));
    }
}

} // namespace

const char* cacheTypeName(at::ScalarType type)
{
    switch (type) {
    case at::kFloat:
        return "float32";
    case at::kBFloat16:
        return "bfloat16";
    case at::kHalf:
        return "float16";
    case at::kChar:
        return "int8";
    case at::kFloat8_e4m3fn:
        return "fp8";
    default:
        TORCH_CHECK(false, "a cache cannot be of ", type);
    }
}

void quantizeRow(std::byte* to, const float* row, std::int64_t headDim, at::ScalarType type)
{
    const float most = largestOf(type);
    const float largest = largestMagnitude(row, headDim);
    const bool isFinite = std::isfinite(largest);
    const float scale = isFinite ? largest / most : std::numeric_limits<float>::quiet_NaN();
    const float inverse = isFinite && largest >= kSmallestLargest ? most / largest : 0.0F;
    if (inverse == 0.0F)
        std::memset(to, 0, static_cast<std::size_t>(headDim));
    else if (type == at::kChar)
        roundToInt8(to, row, headDim, inverse);
    else
        roundToFp8(to, row, headDim, inverse);
    std::memcpy(to + headDim, &scale, sizeof scale);
}

at::Tensor quantizedRows(const at::Tensor& rows, at::ScalarType type)
{
    const float most = largestOf(type);
    const at::Tensor floats = rows.to(at::kFloat);
    const at::Tensor largest = floats.abs().amax({-1}, true);
    const at::Tensor isFinite = at::isfinite(largest);
    const at::Tensor scale =
        at::where(isFinite, largest / most, std::numeric_limits<float>::quiet_NaN());
    const at::Tensor inverse =
        at::where(isFinite.logical_and(largest >= kSmallestLargest), most / largest, 0.0F);
    const at::Tensor scaled = at::where(inverse > 0.0F, floats * inverse, 0.0F);
    const at::Tensor numbers = type == at::kChar ? scaled.round().to(type) : scaled.to(type);
    // As bytes, which every device can join.
    return at::cat(
               {numbers.view(at::kChar), scale.clone(at::MemoryFormat::Contiguous).view(at::kChar)},
               -1)
        .view(type);
}

at::Tensor cachedNumbers(const at::Tensor& rows, at::ScalarType type)
{
    if (!hasScales(rows.scalar_type()))
        return rows.to(type);
    const std::int64_t headDim = rows.size(-1) - kScaleBytes;
    const at::Tensor scale =
        rows.narrow(-1, headDim, kScaleBytes).clone(at::MemoryFormat::Contiguous).view(at::kFloat);
    const at::ScalarType exact = type == at::kDouble ? at::kDouble : at::kFloat;
    return (rows.narrow(-1, 0, headDim).to(exact) * scale.to(exact)).to(type);
}

} // namespace kvscope
