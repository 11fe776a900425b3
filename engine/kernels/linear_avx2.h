#pragma once

#include "engine/kernels/linear_kernels.h"

namespace kvscope::avx2 {

// The loops of linear() for x86-64 with AVX2, FMA and F16C; linear_kernels.h says what each
// computes. Expanding is bit-equal to the portable loops, products differ by rounding.

void decodeF32(const std::byte* row, float* out, std::int64_t cols);
void decodeF16(const std::byte* row, float* out, std::int64_t cols);
void decodeBF16(const std::byte* row, float* out, std::int64_t cols);
void decodeQ80(const std::byte* row, float* out, std::int64_t cols);
void decodeQ40(const std::byte* row, float* out, std::int64_t cols);
void decodeQ41(const std::byte* row, float* out, std::int64_t cols);

void multiplyF32(const RowProduct& product, std::int64_t firstRow, std::int64_t endRow);
void multiplyF16(const RowProduct& product, std::int64_t firstRow, std::int64_t endRow);
void multiplyBF16(const RowProduct& product, std::int64_t firstRow, std::int64_t endRow);
void multiplyQ80(const RowProduct& product, std::int64_t firstRow, std::int64_t endRow);
void multiplyQ40(const RowProduct& product, std::int64_t firstRow, std::int64_t endRow);
void multiplyQ41(const RowProduct& product, std::int64_t firstRow, std::int64_t endRow);

void quantizeRow(const float* x, std::int64_t cols, std::int16_t* quantized, float* scaleAndSum);
/// The same, each block in the order that multiplyQ40() and multiplyQ41() read: elements
/// 0, 2, ... 30, then 1, 3, ... 31.
void quantizeRowEvenOdd(const float* x, std::int64_t cols, std::int16_t* quantized,
                        float* scaleAndSum);

} // namespace kvscope::avx2
