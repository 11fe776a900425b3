#pragma once

#include "engine/kernels/linear/linear_kernels.h"

namespace kvscope::avx512 {

// The loops of linear() for InstructionSet::Avx512; linear_kernels.h says what each computes.
// Expanding is bit-equal to the portable loops, products differ from them by rounding.

extern const FormatKernels kF32, kF16, kBF16;

/// What is not as in linear_avx2.h, which expands block formats for this set too.
struct BlockKernels
{
    MultiplyRows multiply;
    QuantizeRow quantize;
};
extern const BlockKernels kQ80, kQ40, kQ41, kQ50, kQ51, kIq4Nl, kMxfp4;
extern const BlockKernels kQ2K, kQ3K, kQ4K, kQ5K, kQ6K, kQ8K, kIq4Xs;

} // namespace kvscope::avx512
