#pragma once

#include "engine/kernels/cache_lines.h"
#include "engine/kernels/cpu_features.h"
#include "engine/kernels/linear/linear_kernels.h"
#include "engine/kernels/linear/weight_matrix.h"

#include <cstdint>
#include <vector>

namespace kvscope {

// Products of one row in pieces, for threads that share them out themselves.

/// Rows [firstRow, endRow) of a product in the way that a precision asks for.
struct RowMultiplier
{
    FormatKernels kernels;
    FormatKernels floats;    ///< the loops for float32
    bool isExpanded = false; ///< to float32, a few rows at a time

    RowMultiplier() = default;
    RowMultiplier(StorageType type, Precision precision, InstructionSet instructions);
    bool roundsInput() const { return kernels.quantize != nullptr && !isExpanded; }
    /// Floats of `expanded` below; 0 where rows are multiplied as they lie.
    std::size_t expandedFloats(std::int64_t cols) const;
    /// \param expanded  scratch
    void operator()(const RowProduct& product, std::int64_t firstRow, std::int64_t endRow,
                    float* expanded) const;
};

/// One input, and its rounding once a weight has asked for it, with the memory that takes.
class InputRow
{
public:
    /// Memory for rows of so many columns; afterwards nothing is allocated for them.
    void reserve(std::int64_t cols);
    /// \param x  [cols], read until the next set() \pre reserved
    void set(const float* x, std::int64_t cols);

private:
    friend class WeightRows;
    /// Fills in what the product reads.
    void fillIn(RowProduct& product, const RowMultiplier& multiplier);

    const float* m_x = nullptr;
    std::int64_t m_cols = 0;
    QuantizeRow m_roundedBy = nullptr; ///< null: not yet
    CacheLines<std::int16_t> m_values;
    CacheLines<float> m_scaleAndSum;
    std::vector<float> m_expanded; ///< rows of a weight
};

/// A weight that is multiplied with one input, any of its rows by any thread. Borrows its memory.
class WeightRows
{
public:
    WeightRows() = default;
    /// checkWeight()s it. \param isStreamed  as RowProduct has it
    WeightRows(const WeightMatrix& weight, Precision precision, bool isStreamed);

    std::int64_t rows() const { return m_rows; }
    std::int64_t cols() const { return m_product.cols; }
    /// y[r] = row r times x, for first <= r < end. \param x  this thread's
    void multiply(InputRow& x, float* y, std::int64_t first, std::int64_t end) const;
    /// Asks for the memory in which `first` begins: before a meeting, so that what is multiplied
    /// after it is on its way meanwhile.
    void askFor(std::int64_t first) const;

private:
    RowMultiplier m_multiplier;
    RowProduct m_product;
    std::int64_t m_rows = 0;
};

} // namespace kvscope
