#pragma once

#include "engine/kernels/linear/linear_kernels.h"

namespace kvscope::avx512 {

// The loops of linear() for InstructionSet::Avx512; linear_kernels.h says what each computes.
// Expanding is bit-equal to the portable loops, products differ from them by rounding.

extern const FormatKernels kF32, kF16, kBF16;

/// Without `decode`: linear_avx2.h expands block formats for this set too. For processors with
/// hasVnni().
extern const FormatKernels kQ80, kQ40, kQ41, kQ50, kQ51, kIq4Nl, kMxfp4;
extern const FormatKernels kQ2K, kQ3K, kQ4K, kQ5K, kQ6K, kQ8K, kIq4Xs;

} // namespace kvscope::avx512
