#include "engine/kernels/linear/block_formats.h"
#include "engine/kernels/linear/block_tables.h"
#include "engine/kernels/linear/linear_paths.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/take.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>

namespace kvscope {

namespace {

// Blocks are uint8 [R, B, bytes]: R rows of B blocks. Groups are 32 elements; K formats have 8.

/// A block's parts as float32: integers [R, B, groups, 2, 16], the factors of groups or their
/// halves in a shape that multiplies them. Offsets are undefined where the format has none.
struct BlockParts
{
    at::Tensor integers;
    at::Tensor scales;
    at::Tensor offsets;
};

// Bytes [first, first + count) of every block under another type.
at::Tensor bytesAs(const at::Tensor& blocks, std::int64_t first, std::int64_t count,
                   at::ScalarType type)
{
    // clone: a view under another type needs even strides and an even offset.
    return blocks.narrow(2, first, count).clone(at::MemoryFormat::Contiguous).view(type);
}

// A float16 as [R, B, 1] float32.
at::Tensor halfAt(const at::Tensor& blocks, std::int64_t first)
{
    return bytesAs(blocks, first, 2, at::kHalf).to(at::kFloat);
}

// bytes >> each shift; `shifts` is spread over the dimension that stands `behind` dimensions before
// the last.
at::Tensor shifted(const at::Tensor& bytes, at::ArrayRef<std::int64_t> shifts, std::int64_t behind)
{
    std::vector<std::int64_t> shape(static_cast<std::size_t>(behind) + 1, 1);
    shape.front() = static_cast<std::int64_t>(shifts.size());
    const at::Tensor amounts = at::tensor(shifts, at::kLong).to(bytes.device(), at::kByte);
    return at::bitwise_right_shift(bytes, amounts.view(shape));
}

// 16 bytes to 32 nibbles, low ones first: [R, B, groups, 2, 16] uint8.
at::Tensor nibblesAt(const at::Tensor& blocks, std::int64_t first, std::int64_t groups = 1)
{
    const at::Tensor pairs = blocks.narrow(2, first, 16 * groups)
                                 .reshape({blocks.size(0), blocks.size(1), groups, 1, 16});
    return shifted(pairs, {0, 4}, 1).bitwise_and(15);
}

// Bit `group` of 32 bytes, or bit i of 4 bytes: [R, B, groups, 2, 16] uint8 of 0 and 1.
at::Tensor bitPlanesAt(const at::Tensor& blocks, std::int64_t first)
{
    const at::Tensor bytes =
        blocks.narrow(2, first, 32).reshape({blocks.size(0), blocks.size(1), 1, 2, 16});
    return shifted(bytes, {0, 1, 2, 3, 4, 5, 6, 7}, 2).bitwise_and(1);
}
at::Tensor fifthBitsAt(const at::Tensor& blocks, std::int64_t first)
{
    const at::Tensor bytes = blocks.narrow(2, first, 4).unsqueeze(3);
    return shifted(bytes, {0, 1, 2, 3, 4, 5, 6, 7}, 0)
        .bitwise_and(1)
        .view({blocks.size(0), blocks.size(1), 1, 2, 16});
}

// Bits in twos of 64 bytes, and nibbles of 128, as k_block_readers.h orders them: [R, B, 8, 2, 16].
at::Tensor pairsOfBitsAt(const at::Tensor& blocks, std::int64_t first)
{
    const std::int64_t rows = blocks.size(0);
    const std::int64_t count = blocks.size(1);
    const at::Tensor bytes = blocks.narrow(2, first, 64).reshape({rows, count, 2, 1, 32});
    return shifted(bytes, {0, 2, 4, 6}, 1).bitwise_and(3).view({rows, count, 8, 2, 16});
}
at::Tensor sideNibblesAt(const at::Tensor& blocks, std::int64_t first, std::int64_t bytesAside)
{
    const std::int64_t rows = blocks.size(0);
    const std::int64_t count = blocks.size(1);
    const at::Tensor bytes =
        blocks.narrow(2, first, 128).reshape({rows, count, 128 / bytesAside, 1, bytesAside});
    return shifted(bytes, {0, 4}, 1).bitwise_and(15).view({rows, count, 8, 2, 16});
}

at::Tensor lookUp(const std::int8_t (&values)[16], const at::Tensor& nibbles)
{
    const at::Tensor table = at::tensor(at::ArrayRef<std::int8_t>(values, 16), at::kChar);
    return at::take(table.to(nibbles.device(), at::kFloat), nibbles.to(at::kLong));
}

// [R, B, 8] or [R, B, 16] factors in the shape that multiplies [R, B, 8, 2, 16].
at::Tensor perGroup(const at::Tensor& factors)
{
    return factors.view({factors.size(0), factors.size(1), 8, factors.size(2) / 8, 1});
}
// [R, B, 1] likewise.
at::Tensor perBlock(const at::Tensor& factor)
{
    return factor.unsqueeze(3).unsqueeze(4);
}

BlockParts q2K(const at::Tensor& blocks)
{
    const at::Tensor pairs = blocks.narrow(2, 0, 16);
    return {pairsOfBitsAt(blocks, 16).to(at::kFloat),
            perGroup(pairs.bitwise_and(15).to(at::kFloat) * halfAt(blocks, 80)),
            perGroup(-(pairs.bitwise_right_shift(4).to(at::kFloat) * halfAt(blocks, 82)))};
}

BlockParts q3K(const at::Tensor& blocks)
{
    const at::Tensor nibbles = blocks.narrow(2, 96, 8);
    const at::Tensor low = at::cat({nibbles.bitwise_and(15), nibbles.bitwise_right_shift(4)}, 2);
    const at::Tensor high =
        shifted(blocks.narrow(2, 104, 4).unsqueeze(2), {0, 2, 4, 6}, 1).bitwise_and(3);
    const at::Tensor scales = low.to(at::kFloat) + high.flatten(2).to(at::kFloat) * 16 - 32;
    const at::Tensor integers =
        pairsOfBitsAt(blocks, 32).to(at::kFloat) + bitPlanesAt(blocks, 0).to(at::kFloat) * 4 - 4;
    return {integers, perGroup(scales * halfAt(blocks, 108)), {}};
}

// The factors of Q4_K and Q5_K; `integers` are theirs.
BlockParts withPackedFactors(const at::Tensor& blocks, const at::Tensor& integers)
{
    const at::Tensor first = blocks.narrow(2, 4, 4);
    const at::Tensor second = blocks.narrow(2, 8, 4);
    const at::Tensor third = blocks.narrow(2, 12, 4);
    const auto topBits = [](const at::Tensor& bytes) {
        return bytes.bitwise_right_shift(6).to(at::kFloat) * 16;
    };
    const at::Tensor scales = at::cat({first.bitwise_and(63).to(at::kFloat),
                                       third.bitwise_and(15).to(at::kFloat) + topBits(first)},
                                      2);
    const at::Tensor offsets =
        at::cat({second.bitwise_and(63).to(at::kFloat),
                 third.bitwise_right_shift(4).to(at::kFloat) + topBits(second)},
                2);
    return {integers, perGroup(scales * halfAt(blocks, 0)),
            perGroup(-(offsets * halfAt(blocks, 2)))};
}

BlockParts q4K(const at::Tensor& blocks)
{
    return withPackedFactors(blocks, sideNibblesAt(blocks, 16, 32).to(at::kFloat));
}

BlockParts q5K(const at::Tensor& blocks)
{
    return withPackedFactors(blocks, sideNibblesAt(blocks, 48, 32).to(at::kFloat) +
                                         bitPlanesAt(blocks, 16).to(at::kFloat) * 16);
}

BlockParts q6K(const at::Tensor& blocks)
{
    const at::Tensor integers = sideNibblesAt(blocks, 0, 64).to(at::kFloat) +
                                pairsOfBitsAt(blocks, 128).to(at::kFloat) * 16 - 32;
    const at::Tensor scales = bytesAs(blocks, 192, 16, at::kChar).to(at::kFloat);
    return {integers, perGroup(scales * halfAt(blocks, 208)), {}};
}

BlockParts q8K(const at::Tensor& blocks)
{
    const at::Tensor integers = bytesAs(blocks, 4, 256, at::kChar).to(at::kFloat);
    return {integers.view({blocks.size(0), blocks.size(1), 8, 2, 16}),
            perBlock(bytesAs(blocks, 0, 4, at::kFloat)),
            {}};
}

BlockParts iq4Xs(const at::Tensor& blocks)
{
    const at::Tensor low =
        shifted(blocks.narrow(2, 4, 4).unsqueeze(3), {0, 4}, 0).bitwise_and(15).flatten(2);
    const at::Tensor high =
        shifted(blocks.narrow(2, 2, 2).unsqueeze(3), {0, 2, 4, 6}, 0).bitwise_and(3).flatten(2);
    const at::Tensor scales = low.to(at::kFloat) + high.to(at::kFloat) * 16 - 32;
    return {lookUp(kNonLinear4, nibblesAt(blocks, 8, 8)), perGroup(scales * halfAt(blocks, 0)), {}};
}

// Half of 2^(e - 127), e being the first byte; the smallest two are subnormal.
at::Tensor halvedExponent(const at::Tensor& blocks)
{
    const at::Tensor exponent = blocks.narrow(2, 0, 1).to(at::kInt);
    const at::Tensor subnormal = exponent.clamp(0, 1).add(1).mul(0x00200000);
    return at::where(exponent.lt(2), subnormal, exponent.sub(1).clamp(0).mul(1 << 23))
        .view(at::kFloat);
}

BlockParts partsOf(StorageType type, const at::Tensor& blocks)
{
    const auto floats = [](const at::Tensor& bytes) { return bytes.to(at::kFloat); };
    switch (type) {
    case StorageType::Q8_0:
        return {floats(bytesAs(blocks, 2, 32, at::kChar))
                    .view({blocks.size(0), blocks.size(1), 1, 2, 16}),
                perBlock(halfAt(blocks, 0)),
                {}};
    case StorageType::Q4_0:
        return {floats(nibblesAt(blocks, 2)) - 8, perBlock(halfAt(blocks, 0)), {}};
    case StorageType::Q4_1:
        return {floats(nibblesAt(blocks, 4)), perBlock(halfAt(blocks, 0)),
                perBlock(halfAt(blocks, 2))};
    case StorageType::Q5_0:
        return {floats(nibblesAt(blocks, 6)) + floats(fifthBitsAt(blocks, 2)) * 16 - 16,
                perBlock(halfAt(blocks, 0)),
                {}};
    case StorageType::Q5_1:
        return {floats(nibblesAt(blocks, 8)) + floats(fifthBitsAt(blocks, 4)) * 16,
                perBlock(halfAt(blocks, 0)), perBlock(halfAt(blocks, 2))};
    case StorageType::IQ4_NL:
        return {lookUp(kNonLinear4, nibblesAt(blocks, 2)), perBlock(halfAt(blocks, 0)), {}};
    case StorageType::MXFP4:
        return {lookUp(kTwiceFloat4, nibblesAt(blocks, 1)), perBlock(halvedExponent(blocks)), {}};
    case StorageType::Q2_K:
        return q2K(blocks);
    case StorageType::Q3_K:
        return q3K(blocks);
    case StorageType::Q4_K:
        return q4K(blocks);
    case StorageType::Q5_K:
        return q5K(blocks);
    case StorageType::Q6_K:
        return q6K(blocks);
    case StorageType::Q8_K:
        return q8K(blocks);
    case StorageType::IQ4_XS:
        return iq4Xs(blocks);
    default:
        TORCH_CHECK(false, "expandTensorOps: no block format ", storageName(type));
    }
}

/// \param rows  [R, bytes] of a weight in blocks
at::Tensor expandRows(const at::Tensor& rows, const WeightMatrix& weight, at::ScalarType dtype)
{
    const std::int64_t numBlocks = weight.cols / blockElements(weight.type);
    const at::Tensor blocks = rows.view({rows.size(0), numBlocks, blockBytes(weight.type)});
    const BlockParts parts = partsOf(weight.type, blocks);
    at::Tensor values = parts.integers * parts.scales;
    if (parts.offsets.defined())
        values += parts.offsets;
    return values.view({rows.size(0), weight.cols}).to(dtype);
}

} // namespace

at::Tensor expandTensorOps(const WeightMatrix& weight, at::ScalarType dtype,
                           std::int64_t mostAtOnce)
{
    if (!isQuantized(weight.type))
        return weight.data.to(dtype);
    const std::int64_t rowsAtOnce = std::max<std::int64_t>(1, mostAtOnce / weight.cols);
    if (weight.rows <= rowsAtOnce)
        return expandRows(weight.data, weight, dtype);
    const at::Tensor all =
        at::empty({weight.rows, weight.cols}, weight.data.options().dtype(dtype));
    for (std::int64_t first = 0; first < weight.rows; first += rowsAtOnce) {
        const std::int64_t count = std::min(rowsAtOnce, weight.rows - first);
        all.narrow(0, first, count)
            .copy_(expandRows(weight.data.narrow(0, first, count), weight, dtype));
    }
    return all;
}

} // namespace kvscope
