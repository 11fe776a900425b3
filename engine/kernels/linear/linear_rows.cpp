#include "engine/kernels/linear/linear_rows.h"

#include "engine/kernels/linear/block_formats.h"
#include "engine/kernels/linear/linear_paths.h"

#include <algorithm>

namespace kvscope {
namespace {

constexpr std::int64_t kBlock = 32;
// Rows that Precision::Exact expands at a time: a group of the dot products, and small enough for
// the first cache.
constexpr std::int64_t kExpandedRows = 4;
// What the loops do not ask for themselves: they look at least this far ahead of the row at work.
// With AVX-512 it is twice as far, and asking for as much here made no difference (Zen 5).
constexpr std::int64_t kAskedFor = 4096;
constexpr std::int64_t kCacheLine = 64;

void multiplyExpandedRows(const RowProduct& product, const RowMultiplier& multiplier,
                          std::int64_t firstRow, std::int64_t endRow, float* expanded)
{
    RowProduct part = product;
    part.weight = reinterpret_cast<const std::byte*>(expanded);
    part.rowBytes = product.cols * static_cast<std::int64_t>(sizeof(float));
    for (std::int64_t row = firstRow; row < endRow; row += kExpandedRows) {
        const std::int64_t count = std::min(kExpandedRows, endRow - row);
        for (std::int64_t i = 0; i < count; ++i)
            multiplier.kernels.decode(product.weight + (row + i) * product.rowBytes,
                                      expanded + i * product.cols, product.cols);
        part.y = product.y + row;
        multiplier.floats.multiply(part, 0, count);
    }
}

} // namespace

RowMultiplier::RowMultiplier(StorageType type, Precision precision, InstructionSet instructions)
    : kernels(formatKernels(type, instructions))
    , floats(formatKernels(StorageType::F32, instructions))
    , isExpanded(isQuantized(type) && precision == Precision::Exact)
{
}

std::size_t RowMultiplier::expandedFloats(std::int64_t cols) const
{
    return isExpanded ? static_cast<std::size_t>(kExpandedRows * cols) : 0;
}

void RowMultiplier::operator()(const RowProduct& product, std::int64_t firstRow,
                               std::int64_t endRow, float* expanded) const
{
    if (isExpanded)
        multiplyExpandedRows(product, *this, firstRow, endRow, expanded);
    else
        kernels.multiply(product, firstRow, endRow);
}

void InputRow::reserve(std::int64_t cols)
{
    const auto count = static_cast<std::size_t>(cols);
    m_values.reserve(count);
    m_scaleAndSum.reserve(count / kBlock * 2);
    m_expanded.resize(std::max(m_expanded.size(), count * kExpandedRows));
}

void InputRow::set(const float* x, std::int64_t cols)
{
    m_x = x;
    m_cols = cols;
    m_roundedBy = nullptr;
}

void InputRow::fillIn(RowProduct& product, const RowMultiplier& multiplier)
{
    product.x = m_x;
    if (!multiplier.roundsInput())
        return;
    if (m_roundedBy != multiplier.kernels.quantize) {
        m_roundedBy = multiplier.kernels.quantize;
        m_roundedBy(m_x, m_cols, m_values.data(), m_scaleAndSum.data());
    }
    product.quantized = m_values.data();
    product.scaleAndSum = m_scaleAndSum.data();
}

WeightRows::WeightRows(const WeightMatrix& weight, Precision precision, bool isStreamed)
    : m_multiplier(weight.type, precision, bestInstructionSet())
    , m_rows(weight.rows)
{
    checkWeight(weight);
    m_product.weight = static_cast<const std::byte*>(weight.data.const_data_ptr());
    m_product.rowBytes = bytesPerRow(weight.type, weight.cols);
    m_product.cols = weight.cols;
    m_product.numInputs = 1;
    m_product.yStride = weight.rows;
    m_product.isStreamed = isStreamed;
}

void WeightRows::askFor(std::int64_t first) const
{
    const std::byte* begin = m_product.weight + first * m_product.rowBytes;
    const std::int64_t bytes = std::min(kAskedFor, (m_rows - first) * m_product.rowBytes);
    for (std::int64_t at = 0; at < bytes; at += kCacheLine) {
        if (m_product.isStreamed)
            __builtin_prefetch(begin + at, 0, 0);
        else
            __builtin_prefetch(begin + at);
    }
}

void WeightRows::multiply(InputRow& x, float* y, std::int64_t first, std::int64_t end) const
{
    if (first >= end)
        return;
    RowProduct product = m_product;
    x.fillIn(product, m_multiplier);
    product.y = y;
    m_multiplier(product, first, end, x.m_expanded.data());
}

} // namespace kvscope
