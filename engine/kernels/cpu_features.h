#pragma once

namespace kvscope {

/// Which of our hand-written kernels run.
enum class InstructionSet {
    Portable, ///< plain C++, any processor
    Avx2,     ///< x86-64 with AVX2, FMA and F16C (2013 and later)
};

/// The best set that was compiled in and that this processor and its operating system run. Read
/// once.
InstructionSet bestInstructionSet();

/// Whether the matrix library multiplies bfloat16 faster than float32 here: AMX-BF16 or
/// AVX512-BF16. Elsewhere it converts element by element and is slower.
bool hasBFloat16Products();

/// Whether the matrix library may multiply float32 in vectors of AVX-512, wider than our kernels'.
/// An estimate: nothing was measured on such a processor.
bool hasWideMatrixLibrary();

} // namespace kvscope
