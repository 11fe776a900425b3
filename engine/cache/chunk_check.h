#pragma once

#include "engine/cache/buffer_shape.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

namespace kvscope {

/// The contract of keys and values handed to a buffer: both [B, Hkv, T, D] with T > 0, on its kind
/// of device, the last dimension contiguous.
inline void checkChunk(const BufferShape& shape, at::Device device, const at::Tensor& keys,
                       const at::Tensor& values)
{
    TORCH_CHECK(keys.dim() == 4 && keys.sizes() == values.sizes(), "keys are ", keys.sizes(),
                ", values ", values.sizes(), "; both must be [B, Hkv, T, D]");
    TORCH_CHECK(keys.size(0) == shape.batch && keys.size(1) == shape.numKvHeads &&
                    keys.size(2) > 0 && keys.size(3) == shape.headDim,
                "a chunk of ", keys.sizes(), " does not fit a cache of B ", shape.batch, ", Hkv ",
                shape.numKvHeads, ", D ", shape.headDim);
    TORCH_CHECK(keys.device().type() == device.type() && values.device().type() == device.type(),
                "keys and values are on ", keys.device(), " and ", values.device(),
                ", the cache is on ", device);
    TORCH_CHECK(keys.stride(3) == 1 && values.stride(3) == 1,
                "keys and values need a contiguous last dimension");
}

} // namespace kvscope
