#include "engine/kernels/linear_paths.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/mm.h>

namespace kvscope {

namespace {

// Bytes [first, first + 2) of every block as float16: [rows, blocks, 1] float32.
at::Tensor halfAt(const at::Tensor& blocks, std::int64_t first)
{
    // clone: a view under another type needs even strides and an even offset.
    return blocks.narrow(2, first, 2)
        .clone(at::MemoryFormat::Contiguous)
        .view(at::kHalf)
        .to(at::kFloat);
}

// The nibbles of bytes [first, first + 16) of every block, low ones first: [rows, blocks, 32]
// float32.
at::Tensor nibblesAt(const at::Tensor& blocks, std::int64_t first)
{
    const at::Tensor pairs = blocks.narrow(2, first, 16);
    return at::cat({pairs.bitwise_and(15), pairs.bitwise_right_shift(4)}, 2).to(at::kFloat);
}

// [rows, blocks, 32] float32
at::Tensor expandBlocks(StorageType type, const at::Tensor& blocks)
{
    switch (type) {
    case StorageType::Q8_0: {
        const at::Tensor bytes = blocks.narrow(2, 2, 32).clone(at::MemoryFormat::Contiguous);
        return bytes.view(at::kChar).to(at::kFloat) * halfAt(blocks, 0);
    }
    case StorageType::Q4_0:
        return (nibblesAt(blocks, 2) - 8) * halfAt(blocks, 0);
    case StorageType::Q4_1:
        return nibblesAt(blocks, 4) * halfAt(blocks, 0) + halfAt(blocks, 2);
    default:
        TORCH_CHECK(false, "expandTensorOps: no block format ", storageName(type));
    }
}

} // namespace

at::Tensor expandTensorOps(const WeightMatrix& weight, at::ScalarType dtype)
{
    if (!isQuantized(weight.type))
        return weight.data.to(dtype);
    const std::int64_t numBlocks = weight.cols / blockElements(weight.type);
    const at::Tensor blocks = weight.data.view({weight.rows, numBlocks, blockBytes(weight.type)});
    return expandBlocks(weight.type, blocks).view({weight.rows, weight.cols}).to(dtype);
}

at::Tensor linearTensorOps(const at::Tensor& x, const WeightMatrix& weight)
{
    return at::mm(x, expandTensorOps(weight, x.scalar_type()).t());
}

} // namespace kvscope
