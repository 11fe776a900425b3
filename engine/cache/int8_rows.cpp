#include "engine/cache/int8_rows.h"

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

constexpr float kSteps = 127.0F;
// Below, the steps' inverse would not be a number; such a row is zeros.
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
    default:
        TORCH_CHECK(false, "a cache cannot be of ", type);
    }
}

void quantizeRow(std::byte* to, const float* row, std::int64_t headDim)
{
    const float largest = largestMagnitude(row, headDim);
    const bool isFinite = std::isfinite(largest);
    const float scale = isFinite ? largest / kSteps : std::numeric_limits<float>::quiet_NaN();
    const float inverse = isFinite && largest >= kSmallestLargest ? kSteps / largest : 0.0F;
    auto* numbers = reinterpret_cast<std::int8_t*>(to);
    if (inverse == 0.0F)
        std::memset(numbers, 0, static_cast<std::size_t>(headDim));
    else {
        // Adding 1.5 * 2^23 rounds to an integer, to nearest even, and leaves it in the low bits.
#pragma omp simd
        for (std::int64_t i = 0; i < headDim; ++i)
            numbers[i] = static_cast<std::int8_t>(
                std::bit_cast<std::uint32_t>(row[i] * inverse + 0x1.8p23F) & 0xffu);
    }
    std::memcpy(to + headDim, &scale, sizeof scale);
}

at::Tensor quantizedRows(const at::Tensor& rows)
{
    const at::Tensor floats = rows.to(at::kFloat);
    const at::Tensor largest = floats.abs().amax({-1}, true);
    const at::Tensor isFinite = at::isfinite(largest);
    const at::Tensor scale =
        at::where(isFinite, largest / kSteps, std::numeric_limits<float>::quiet_NaN());
    const at::Tensor inverse =
        at::where(isFinite.logical_and(largest >= kSmallestLargest), kSteps / largest, 0.0F);
    const at::Tensor numbers =
        at::where(inverse > 0.0F, floats * inverse, 0.0F).round().to(at::kChar);
    return at::cat({numbers, scale.clone(at::MemoryFormat::Contiguous).view(at::kChar)}, -1);
}

at::Tensor cachedNumbers(const at::Tensor& rows, at::ScalarType type)
{
    if (rows.scalar_type() != at::kChar)
        return rows.to(type);
    const std::int64_t headDim = rows.size(-1) - kScaleBytes;
    const at::Tensor scale =
        rows.narrow(-1, headDim, kScaleBytes).clone(at::MemoryFormat::Contiguous).view(at::kFloat);
    const at::ScalarType exact = type == at::kDouble ? at::kDouble : at::kFloat;
    return (rows.narrow(-1, 0, headDim).to(exact) * scale.to(exact)).to(type);
}

} // namespace kvscope
