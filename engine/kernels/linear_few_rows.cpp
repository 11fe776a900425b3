#include "engine/kernels/block_formats.h"
#include "engine/kernels/linear_paths.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace kvscope {

namespace {

constexpr std::int64_t kBlock = 32;
// Bytes of weight that are worth another thread: below, waking it costs more than it saves.
constexpr std::int64_t kBytesPerThread = 48 << 10;
// Rows that Precision::Exact expands at a time: a group of the dot products, and small enough for
// the first cache.
constexpr std::int64_t kExpandedRows = 4;

/// All inputs rounded to integers, once a call.
class QuantizedInputs
{
public:
    QuantizedInputs(const RowProduct& product, QuantizeRow quantizeRow)
        : m_values(std::make_unique_for_overwrite<std::int16_t[]>(
              static_cast<std::size_t>(product.numInputs * product.cols)))
        , m_scaleAndSum(std::make_unique_for_overwrite<float[]>(
              static_cast<std::size_t>(product.numInputs * product.cols / kBlock * 2)))
    {
        for (std::int64_t n = 0; n < product.numInputs; ++n)
            quantizeRow(product.x + n * product.cols, product.cols,
                        m_values.get() + n * product.cols,
                        m_scaleAndSum.get() + n * product.cols / kBlock * 2);
    }
    const std::int16_t* values() const { return m_values.get(); }
    const float* scaleAndSum() const { return m_scaleAndSum.get(); }

private:
    std::unique_ptr<std::int16_t[]> m_values;
    std::unique_ptr<float[]> m_scaleAndSum;
};

template <typename MultiplyRange>
void forRowRanges(const WeightMatrix& weight, std::int64_t rowBytes, const MultiplyRange& multiply)
{
    const std::int64_t grain = std::max<std::int64_t>(1, kBytesPerThread / rowBytes);
    at::parallel_for(0, weight.rows, grain, multiply);
}

void multiplyExpandedRows(const RowProduct& product, const FormatKernels& blocks,
                          const FormatKernels& floats, std::int64_t firstRow, std::int64_t endRow)
{
    std::vector<float> expanded(static_cast<std::size_t>(kExpandedRows * product.cols));
    RowProduct part = product;
    part.weight = reinterpret_cast<const std::byte*>(expanded.data());
    part.rowBytes = product.cols * static_cast<std::int64_t>(sizeof(float));
    for (std::int64_t row = firstRow; row < endRow; row += kExpandedRows) {
        const std::int64_t count = std::min(kExpandedRows, endRow - row);
        for (std::int64_t i = 0; i < count; ++i)
            blocks.decode(product.weight + (row + i) * product.rowBytes,
                          expanded.data() + i * product.cols, product.cols);
        part.y = product.y + row;
        floats.multiply(part, 0, count);
    }
}

} // namespace

at::Tensor linearFewRows(const at::Tensor& x, const WeightMatrix& weight, Precision precision,
                         InstructionSet instructions)
{
    at::Tensor y = at::empty({x.size(0), weight.rows}, x.options());
    if (y.numel() == 0)
        return y;
    const auto kernels = formatKernels(weight.type, instructions);
    RowProduct product;
    product.weight = static_cast<const std::byte*>(weight.data.const_data_ptr());
    product.rowBytes = bytesPerRow(weight.type, weight.cols);
    product.cols = weight.cols;
    product.x = x.const_data_ptr<float>();
    product.numInputs = x.size(0);
    product.y = y.mutable_data_ptr<float>();
    product.yStride = weight.rows;

    if (isQuantized(weight.type) && precision == Precision::Exact) {
        const auto floats = formatKernels(StorageType::F32, instructions);
        forRowRanges(weight, product.rowBytes, [&](std::int64_t first, std::int64_t end) {
            multiplyExpandedRows(product, kernels, floats, first, end);
        });
        return y;
    }
    std::optional<QuantizedInputs> quantized;
    if (isQuantized(weight.type)) {
        quantized.emplace(product, kernels.quantize);
        product.quantized = quantized->values();
        product.scaleAndSum = quantized->scaleAndSum();
    }
    forRowRanges(weight, product.rowBytes, [&](std::int64_t first, std::int64_t end) {
        kernels.multiply(product, first, end);
    });
    return y;
}

} // namespace kvscope
