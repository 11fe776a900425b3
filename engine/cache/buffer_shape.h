#pragma once

#include "engine/cache/scaled_rows.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kvscope {

/// What the buffers of all layers of one cache share.
struct BufferShape
{
    std::int64_t batch = 1;      ///< B
    std::int64_t numKvHeads = 0; ///< Hkv
    std::int64_t headDim = 0;    ///< D

    /// Bytes of the keys and values of one position.
    std::uint64_t bytesPerToken(const at::TensorOptions& options) const
    {
        const std::int64_t elements =
            2 * batch * numKvHeads * rowElements(options.dtype().toScalarType(), headDim);
        return static_cast<std::uint64_t>(elements) * options.dtype().itemsize();
    }
};

} // namespace kvscope
