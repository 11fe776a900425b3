#pragma once

#include <cstdint>

namespace kvscope {

/// What the buffers of all layers of one cache share.
struct BufferShape
{
    std::int64_t batch = 1;      ///< B
    std::int64_t numKvHeads = 0; ///< Hkv
    std::int64_t headDim = 0;    ///< D

    /// Elements of the keys and values of one position.
    std::int64_t elementsPerToken() const { return 2 * batch * numKvHeads * headDim; }
};

} // namespace kvscope
