#include "engine/kernels/cache_lines.h"
#include "engine/kernels/linear/block_formats.h"
#include "engine/kernels/linear/linear_paths.h"
#include "engine/kernels/linear/linear_rows.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace kvscope {

namespace {

constexpr std::int64_t kBlock = 32;
// Bytes of weight that are worth another thread: below, waking it costs more than it saves.
constexpr std::int64_t kBytesPerThread = 48 << 10;

/// All inputs rounded to integers.
class QuantizedInputs
{
public:
    QuantizedInputs(const at::Tensor& x, QuantizeRow quantizeRow)
        : m_quantizeRow(quantizeRow)
        , m_values(static_cast<std::size_t>(x.numel()))
        , m_scaleAndSum(static_cast<std::size_t>(x.numel() / kBlock * 2))
    {
        const std::int64_t cols = x.size(1);
        for (std::int64_t n = 0; n < x.size(0); ++n)
            quantizeRow(x.const_data_ptr<float>() + n * cols, cols, m_values.data() + n * cols,
                        m_scaleAndSum.data() + n * cols / kBlock * 2);
    }
    bool isBy(QuantizeRow way) const { return way == m_quantizeRow; }
    const std::int16_t* values() const { return m_values.data(); }
    const float* scaleAndSum() const { return m_scaleAndSum.data(); }

private:
    QuantizeRow m_quantizeRow;
    CacheLines<std::int16_t> m_values;
    CacheLines<float> m_scaleAndSum;
};

/// Of one input, by the way in which weights want it: nearly always there is one way.
class InputRoundings
{
public:
    explicit InputRoundings(const at::Tensor& x)
        : m_x(x)
    {
    }
    const QuantizedInputs& by(QuantizeRow quantizeRow)
    {
        for (const auto& made : m_made)
            if (made->isBy(quantizeRow))
                return *made;
        return *m_made.emplace_back(std::make_unique<QuantizedInputs>(m_x, quantizeRow));
    }

private:
    const at::Tensor& m_x;
    std::vector<std::unique_ptr<QuantizedInputs>> m_made;
};

/// One weight's part of a call.
struct WeightPart
{
    RowProduct product;
    RowMultiplier multiply;
    std::int64_t rows = 0;
};

WeightPart partOf(const at::Tensor& x, const WeightMatrix& weight, at::Tensor& y,
                  Precision precision, InstructionSet instructions, InputRoundings& roundings)
{
    WeightPart part;
    part.multiply = RowMultiplier(weight.type, precision, instructions);
    part.rows = weight.rows;
    RowProduct& product = part.product;
    product.weight = static_cast<const std::byte*>(weight.data.const_data_ptr());
    product.rowBytes = bytesPerRow(weight.type, weight.cols);
    product.cols = weight.cols;
    product.x = x.const_data_ptr<float>();
    product.numInputs = x.size(0);
    product.y = y.mutable_data_ptr<float>();
    product.yStride = weight.rows;
    if (part.multiply.roundsInput()) {
        const QuantizedInputs& inputs = roundings.by(part.multiply.kernels.quantize);
        product.quantized = inputs.values();
        product.scaleAndSum = inputs.scaleAndSum();
    }
    return part;
}

/// The parts' rows one after another, shared out among the threads.
void multiplyAll(const std::vector<WeightPart>& parts)
{
    std::int64_t numRows = 0;
    std::int64_t rowBytes = 1;
    for (const WeightPart& part : parts) {
        numRows += part.rows;
        rowBytes = std::max(rowBytes, part.product.rowBytes);
    }
    const std::int64_t grain = std::max<std::int64_t>(1, kBytesPerThread / rowBytes);
    at::parallel_for(0, numRows, grain, [&](std::int64_t first, std::int64_t end) {
        std::vector<float> expanded;
        std::int64_t begin = 0; // of the part, in all rows
        for (const WeightPart& part : parts) {
            const std::int64_t from = std::max(first - begin, std::int64_t{0});
            const std::int64_t to = std::min(end - begin, part.rows);
            if (from < to) {
                expanded.resize(
                    std::max(expanded.size(), part.multiply.expandedFloats(part.product.cols)));
                part.multiply(part.product, from, to, expanded.data());
            }
            begin += part.rows;
        }
    });
}

} // namespace

std::vector<at::Tensor> linearFewRows(const at::Tensor& x,
                                      std::span<const WeightMatrix* const> weights,
                                      Precision precision, InstructionSet instructions)
{
    std::vector<at::Tensor> results;
    InputRoundings roundings(x);
    std::vector<WeightPart> parts;
    for (const WeightMatrix* weight : weights) {
        results.push_back(at::empty({x.size(0), weight->rows}, x.options()));
        if (results.back().numel() > 0)
            parts.push_back(partOf(x, *weight, results.back(), precision, instructions, roundings));
    }
    multiplyAll(parts);
    return results;
}

at::Tensor linearFewRows(const at::Tensor& x, const WeightMatrix& weight, Precision precision,
                         InstructionSet instructions)
{
    const WeightMatrix* one = &weight;
    return linearFewRows(x, {&one, 1}, precision, instructions).front();
}

} // namespace kvscope
