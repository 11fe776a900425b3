#pragma once

#include "engine/kernels/linear/linear_kernels.h"

namespace kvscope::avx2 {

// The loops of linear() for x86-64 with AVX2, FMA and F16C; linear_kernels.h says what each
// computes. Expanding is bit-equal to the portable loops, products differ by rounding.

extern const FormatKernels kF32, kF16, kBF16;
extern const FormatKernels kQ80, kQ40, kQ41, kQ50, kQ51, kIq4Nl, kMxfp4;
extern const FormatKernels kQ2K, kQ3K, kQ4K, kQ5K, kQ6K, kQ8K, kIq4Xs;

/// QuantizeRow for all block formats but Q4_0 and Q4_1, in the order that unpacks quickest. Of each
/// 32 inputs elements 0, 2, ... 30 come first, then 1, 3, ... 31; of each 256 (or what is left at
/// the end) all scales come first, then their sums.
void quantizeRowEvenOdd(const float* x, std::int64_t cols, std::int16_t* quantized,
                        float* scaleAndSum);
/// QuantizeRow for linear_avx2_nibbles.h. Of each 64 inputs, two blocks, come elements 0, 2, ... 14
/// of both, then 16, 18, ... 30, then 1, 3, ... 15, then 17, 19, ... 31; a last single block is as
/// above. Scale and sum of a block lie together, of each four blocks in the order 0, 2, 1, 3.
void quantizeRowNibbles(const float* x, std::int64_t cols, std::int16_t* quantized,
                        float* scaleAndSum);

// The same for linear_avx512_product.h and linear_avx512_nibbles.h, whose registers hold twice as
// many; AVX2 is all that they need themselves.

/// As quantizeRowEvenOdd(), but of each 64 inputs, two blocks, elements 0, 2, ... 62 come first,
/// then 1, 3, ... 63; a last single block is as there.
void quantizeRowPairs(const float* x, std::int64_t cols, std::int16_t* quantized,
                      float* scaleAndSum);
/// As quantizeRowNibbles(), but of each 128 inputs, four blocks, come elements 0, 2, ... 14 of all
/// four, then 16, 18, ... 30, then 1, 3, ... 15, then 17, 19, ... 31; what is left at the end is as
/// there.
void quantizeRowNibbleFours(const float* x, std::int64_t cols, std::int16_t* quantized,
                            float* scaleAndSum);

} // namespace kvscope::avx2
