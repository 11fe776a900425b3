#include "engine/kernels/linear/block_formats.h"
#include "engine/kernels/linear/linear_paths.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

namespace kvscope {

namespace {

// Elements of the weight expanded at a time, 4 MiB of float32: large enough for the matrix library
// to run at full speed, small enough to be still in the last cache when it reads them.
constexpr std::int64_t kSliceElements = std::int64_t{1} << 20;

std::int64_t rowsPerSlice(const WeightMatrix& weight)
{
    return std::clamp<std::int64_t>(kSliceElements / weight.cols, 1, weight.rows);
}

// Rows [firstRow, firstRow + slice.size(0)) of the weight into slice [rows, in] float32.
void decodeRows(const WeightMatrix& weight, std::int64_t firstRow, const at::Tensor& slice)
{
    const auto decode = formatKernels(weight.type, bestInstructionSet()).decode;
    const std::int64_t rowBytes = bytesPerRow(weight.type, weight.cols);
    const auto* bytes =
        static_cast<const std::byte*>(weight.data.const_data_ptr()) + firstRow * rowBytes;
    auto* out = slice.mutable_data_ptr<float>();
    constexpr std::int64_t kElementsPerThread = 16384; // about 10 us
    const std::int64_t grain = std::max<std::int64_t>(1, kElementsPerThread / weight.cols);
    at::parallel_for(0, slice.size(0), grain, [&](std::int64_t first, std::int64_t end) {
        for (std::int64_t row = first; row < end; ++row)
            decode(bytes + row * rowBytes, out + row * weight.cols, weight.cols);
    });
}

bool isAlignedFloat32(const WeightMatrix& weight)
{
    const auto address = reinterpret_cast<std::uintptr_t>(weight.data.const_data_ptr());
    return weight.type == StorageType::F32 && address % alignof(float) == 0;
}

} // namespace

at::Tensor linearManyRows(const at::Tensor& x, const WeightMatrix& weight)
{
    if (isAlignedFloat32(weight))
        return at::mm(x, weight.data.t());
    at::Tensor y = at::empty({x.size(0), weight.rows}, x.options());
    if (y.numel() == 0)
        return y;
    const std::int64_t step = rowsPerSlice(weight);
    const at::Tensor scratch = at::empty({step, weight.cols}, x.options());
    for (std::int64_t row = 0; row < weight.rows; row += step) {
        const std::int64_t count = std::min(step, weight.rows - row);
        const at::Tensor slice = scratch.narrow(0, 0, count);
        decodeRows(weight, row, slice);
        at::Tensor part = y.narrow(1, row, count);
        at::mm_out(part, x, slice.t());
    }
    return y;
}

at::Tensor expand(const WeightMatrix& weight)
{
    checkWeight(weight);
    if (!weight.data.device().is_cpu())
        return expandTensorOps(weight, at::kFloat);
    const at::Tensor out =
        at::empty({weight.rows, weight.cols}, weight.data.options().dtype(at::kFloat));
    if (out.numel() > 0)
        decodeRows(weight, 0, out);
    return out;
}

} // namespace kvscope
