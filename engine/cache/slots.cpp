#include "engine/cache/slots.h"

#include <c10/core/TensorImpl.h>

#include <cstring>

namespace kvscope {
namespace {

// Up to here one thread's memcpy is done before copy_ has found its kernel; beyond, copy_ uses all
// threads.
constexpr std::int64_t kMostBytesByHand = 64 * 1024;

/// Rows of D elements, copied one (batch, head) after the other. Same dtype, on the CPU.
void copyRows(const at::Tensor& buffer, std::int64_t slot, const at::Tensor& chunk,
              std::int64_t from, std::int64_t length)
{
    const auto itemSize = static_cast<std::int64_t>(buffer.itemsize());
    const std::int64_t rowBytes = buffer.size(3) * itemSize;
    auto* to = static_cast<std::byte*>(buffer.mutable_data_ptr()) + slot * rowBytes;
    const auto* base = static_cast<const std::byte*>(chunk.const_data_ptr());
    for (std::int64_t b = 0; b < buffer.size(0); ++b)
        for (std::int64_t h = 0; h < buffer.size(1); ++h, to += buffer.size(2) * rowBytes)
            for (std::int64_t t = 0; t < length; ++t) {
                const std::int64_t row =
                    b * chunk.stride(0) + h * chunk.stride(1) + (from + t) * chunk.stride(2);
                std::memcpy(to + t * rowBytes, base + row * itemSize,
                            static_cast<std::size_t>(rowBytes));
            }
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
    const std::int64_t bytes = buffer.size(0) * buffer.size(1) * length * buffer.size(3) *
                               static_cast<std::int64_t>(buffer.itemsize());
    if (buffer.is_cpu() && buffer.scalar_type() == chunk.scalar_type() && bytes <= kMostBytesByHand)
        return copyRows(buffer, slot, chunk, from, length);
    const bool whole = length == chunk.size(2);
    slotsOf(buffer, slot, length).copy_(whole ? chunk : chunk.narrow(2, from, length));
}

} // namespace kvscope
