#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kvscope {

// What a decode step does to a cache is a handful of tiny views and copies per layer, so what
// counts is the cost of asking for them. Measured on one core in InferenceMode, 4 heads of 96, a
// step of 30 layers: narrow() and copy_() took 117 us on growing arrays of the chunk's dtype and
// 144 us with float32 rounded to bfloat16, 151 and 268 us on rings; with these two functions
// it takes 13, 44, 24 and 37.

/// Positions of a contiguous buffer [B, Hkv, S, D] in place: [B, Hkv, length, D]. As
/// buffer.narrow(2, slot, length) without the dispatcher; no autograd. \pre the slots exist.
at::Tensor slotsOf(const at::Tensor& buffer, std::int64_t slot, std::int64_t length);

/// Copies positions [from, from + length) of a chunk [B, Hkv, T, D] into the slots from `slot` on,
/// converting to the buffer's dtype; numbers into a buffer of eight bits as scaled_rows.h has it.
/// \pre the slots and positions exist; the buffer is contiguous, the chunk in its last dimension.
void writeSlots(const at::Tensor& buffer, std::int64_t slot, const at::Tensor& chunk,
                std::int64_t from, std::int64_t length);

} // namespace kvscope
