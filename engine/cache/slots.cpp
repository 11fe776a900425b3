#include "engine/cache/slots.h"

#include "engine/cache/scaled_rows.h"

#include <c10/core/TensorImpl.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace kvscope {
namespace {

// Up to here one thread is done by hand before copy_ has found its kernel (about 1 us); beyond,
// copy_ has vectors and all threads.
constexpr std::int64_t kMostBytesMovedByHand = 64 * 1024;
constexpr std::int64_t kMostElementsRoundedByHand =
    4096; // bfloat16; eight bits have no other way here

/// Calls copyRow(to, source) with the first bytes of D elements, for every head and position.
template <typename CopyRow>
void forEachRow(const at::Tensor& buffer, std::int64_t slot, const at::Tensor& chunk,
                std::int64_t from, std::int64_t length, CopyRow copyRow)
{
    const std::int64_t rowBytes = buffer.size(3) * static_cast<std::int64_t>(buffer.itemsize());
    const auto chunkItem = static_cast<std::int64_t>(chunk.itemsize());
    auto* to = static_cast<std::byte*>(buffer.mutable_data_ptr()) + slot * rowBytes;
    const auto* source = static_cast<const std::byte*>(chunk.const_data_ptr());
    for (std::int64_t b = 0; b < buffer.size(0); ++b)
        for (std::int64_t h = 0; h < buffer.size(1); ++h, to += buffer.size(2) * rowBytes)
            for (std::int64_t t = 0; t < length; ++t) {
                const std::int64_t element =
                    b * chunk.stride(0) + h * chunk.stride(1) + (from + t) * chunk.stride(2);
                copyRow(to + t * rowBytes, source + element * chunkItem);
            }
}

/// Rounds D floats to bfloat16, to nearest even, as copy_ does; without a branch, so that it is
/// done in vectors (c10::BFloat16's constructor asks for NaN first: 1.3 ns an element against 0.3).
void roundRow(std::byte* to, const std::byte* source, std::int64_t headDim)
{
    auto* row = reinterpret_cast<std::uint16_t*>(to);
    const auto* floats = reinterpret_cast<const float*>(source);
#pragma omp simd
    for (std::int64_t i = 0; i < headDim; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(floats[i]);
        const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
        const bool isNaN = (bits & 0x7fffffffu) > 0x7f800000u;
        row[i] = static_cast<std::uint16_t>(isNaN ? 0x7fc0u : rounded);
    }
}

/// What a decode step stores, without a call into ATen. False where that is not the faster way.
bool wroteByHand(const at::Tensor& buffer, std::int64_t slot, const at::Tensor& chunk,
                 std::int64_t from, std::int64_t length)
{
    if (!buffer.is_cpu())
        return false;
    const std::int64_t row = buffer.size(3);
    const std::int64_t headDim = chunk.size(3);
    const auto itemSize = static_cast<std::int64_t>(buffer.itemsize());
    const auto elements = buffer.size(0) * buffer.size(1) * length * row;
    const auto each = [&](auto copyRow) { forEachRow(buffer, slot, chunk, from, length, copyRow); };
    const auto type = buffer.scalar_type();
    if (type == chunk.scalar_type() && elements * itemSize <= kMostBytesMovedByHand)
        each([bytes = static_cast<std::size_t>(row * itemSize)](auto* to, const auto* source) {
            std::memcpy(to, source, bytes);
        });
    else if (hasScales(type) && chunk.scalar_type() == at::kFloat)
        each([headDim, type](auto* to, const auto* source) {
            quantizeRow(to, reinterpret_cast<const float*>(source), headDim, type);
        });
    else if (type == at::kBFloat16 && chunk.scalar_type() == at::kFloat &&
             elements <= kMostElementsRoundedByHand)
        each([headDim](auto* to, const auto* source) { roundRow(to, source, headDim); });
    else
        return false;
    return true;
}

} // namespace

at::Tensor slotsOf(const at::Tensor& buffer, std::int64_t slot, std::int64_t length)
{
    // The way ATen's own view operators build their result (alias_with_sizes_and_strides).
    auto view = at::detail::make_tensor<c10::TensorImpl>(
        c10::TensorImpl::VIEW, c10::Storage(buffer.storage()), buffer.key_set(), buffer.dtype());
    const std::array<std::int64_t, 4> sizes{buffer.size(0), buffer.size(1), length, buffer.size(3)};
    view.unsafeGetTensorImpl()->set_sizes_and_strides(
        sizes, buffer.strides(), buffer.storage_offset() + slot * buffer.stride(2));
    return view;
}

void writeSlots(const at::Tensor& buffer, std::int64_t slot, const at::Tensor& chunk,
                std::int64_t from, std::int64_t length)
{
    if (wroteByHand(buffer, slot, chunk, from, length))
        return;
    const at::Tensor part = length == chunk.size(2) ? chunk : chunk.narrow(2, from, length);
    const auto type = buffer.scalar_type();
    const bool quantizes = hasScales(type) && chunk.scalar_type() != type;
    slotsOf(buffer, slot, length).copy_(quantizes ? quantizedRows(part, type) : part);
}

} // namespace kvscope
