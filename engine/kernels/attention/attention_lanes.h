#pragma once

// What attention's loops need beside vectors.

#include "engine/kernels/attention/attention_simd.h"
#include "engine/kernels/simd_lanes.h"

namespace kvscope {
namespace {

/// What the numbers of a row, as load() gives them, are multiplied by; it lies behind them.
KVSCOPE_INLINE float scaleOf(const KVRows& rows, std::int64_t row, std::int64_t headDim)
{
    float scale;
    __builtin_memcpy(&scale, rows.data + row * rows.stride + headDim, sizeof scale);
    return rows.type == KVType::Fp8 ? scale * kFp8Unit : scale;
}

/// Asks for a row that will be read soon. Past the end of the memory it does nothing. What is
/// streamed goes to the first cache alone, as in linear_avx2_lanes.h.
template <typename Element>
KVSCOPE_INLINE void prefetchRow(const Element* row, std::int64_t count, bool isStreamed)
{
    constexpr std::int64_t kLine = 64 / sizeof(Element);
    for (std::int64_t i = 0; i < count; i += kLine) {
        if (isStreamed)
            __builtin_prefetch(row + i, 0, 0);
        else
            __builtin_prefetch(row + i);
    }
}

/// e^x for x <= 0, 0 below -87; NaN stays NaN. Relative error below 3e-7: Taylor to r^6, |r| <=
/// ln(2) / 2.
KVSCOPE_INLINE Lanes expOf(Lanes x)
{
    const Lanes lowest = broadcast(-87.0F);
    const Lanes clamped = x < lowest ? lowest : x;
    // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
    const Lanes rounding = broadcast(0x1.8p23F);
    const Lanes shifted = clamped * 1.44269504F + rounding;
    const Lanes n = shifted - rounding;
    // ln 2 in two parts, the first with few enough bits for an exact product.
    const Lanes r = (clamped - n * 0.693359375F) + n * 2.12194440e-4F;
    Lanes y = broadcast(1.0F / 720.0F);
    y = y * r + 1.0F / 120.0F;
    y = y * r + 1.0F / 24.0F;
    y = y * r + 1.0F / 6.0F;
    y = y * r + 0.5F;
    y = y * r + 1.0F;
    y = y * r + 1.0F;
    const auto power = reinterpret_cast<Lanes>((reinterpret_cast<UIntLanes>(shifted) + 127) << 23);
    return x < lowest ? Lanes{} : y * power;
}

/// cap * tanh(x / cap). Absolute error below cap * 2e-7.
KVSCOPE_INLINE Lanes softCapped(Lanes x, float cap)
{
    const Lanes magnitude = x < Lanes{} ? -x : x;
    const Lanes e = expOf(magnitude * (-2.0F / cap));
    const Lanes capped = cap * ((1.0F - e) / (1.0F + e));
    return x < Lanes{} ? -capped : capped;
}

/// Calls work with a pointer of the rows' element type.
template <typename Work>
KVSCOPE_INLINE void withElements(const KVRows& rows, Work work)
{
    switch (rows.type) {
    case KVType::Float32:
        return work(reinterpret_cast<const float*>(rows.data));
    case KVType::BFloat16:
        return work(reinterpret_cast<const BFloat16Bits*>(rows.data));
    case KVType::Float16:
        return work(reinterpret_cast<const Float16Bits*>(rows.data));
    case KVType::Int8:
        return work(reinterpret_cast<const Int8Bits*>(rows.data));
    case KVType::Fp8:
        return work(reinterpret_cast<const Fp8Bits*>(rows.data));
    }
}

} // namespace
} // namespace kvscope
