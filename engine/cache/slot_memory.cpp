#include "engine/cache/slot_memory.h"

#include "engine/base/errors.h"
#include "engine/base/memory_reading.h"
#include "engine/base/units.h"

#include <ATen/ops/empty.h>

namespace kvscope {
namespace {

// Reading what is free takes some 50 us; smaller arrays are not worth it.
constexpr std::uint64_t kLargeBytes = std::uint64_t{64} << 20;

void requireFree(std::uint64_t bytes, std::int64_t capacity)
{
    const auto freeNow = readFreeHostMemory();
    if (freeNow && bytes > *freeNow)
        throw MemoryError("The cache of one layer needs " + formatBytes(bytes) + " to hold " +
                          formatCount(capacity) + " positions, this machine has " +
                          formatBytes(*freeNow) + " free.");
}

} // namespace

at::Tensor allocateSlots(const BufferShape& shape, std::int64_t capacity,
                         const at::TensorOptions& options)
{
    const std::uint64_t bytes =
        shape.bytesPerToken(options) / 2 * static_cast<std::uint64_t>(capacity);
    if (options.device().is_cpu() && bytes >= kLargeBytes)
        requireFree(bytes, capacity);
    const std::int64_t row = rowElements(options.dtype().toScalarType(), shape.headDim);
    return at::empty({shape.batch, shape.numKvHeads, capacity, row}, options);
}

} // namespace kvscope
