#pragma once

#include <vector>

namespace kvscope {

/// Which of our hand-written kernels run, from the plainest to the widest.
enum class InstructionSet {
    Portable, ///< plain C++, any processor
    Avx2,     ///< x86-64 with AVX2, FMA and F16C (2013 and later)
    Avx512,   ///< x86-64 with AVX-512 F, BW, DQ and VL (Intel's servers 2017, AMD 2022 and later)
};

/// The sets that were compiled in and that this processor and its operating system run, the
/// plainest first. Read once.
const std::vector<InstructionSet>& availableInstructionSets();

/// The last of them.
InstructionSet bestInstructionSet();

/// Whether AVX-512 comes with its products of integers (VNNI; Intel 2019, AMD 2022 and later),
/// which the loops over block formats and those of integer_groups.h need; without them AVX2's and
/// float32's run.
bool hasVnni();

/// Whether the same products come for AVX2's registers (AVX-VNNI; Intel's notebooks 2021, AMD 2024
/// and later).
bool hasAvxVnni();

/// Whether this processor multiplies tiles of bfloat16 (AMX-BF16) and the operating system lets
/// this process use them, which it is asked for once.
bool hasTiles();

/// Whether the matrix library multiplies bfloat16 faster than float32 here: AMX-BF16 or
/// AVX512-BF16. Elsewhere it converts element by element and is slower.
bool hasBFloat16Products();

/// Which of our kernels run here, in short: "portable", "AVX2",
/// "AVX2 with VNNI", "AVX-512", "AVX-512 with VNNI" or "AVX-512 with VNNI, AMX".
const char* instructionSetNames();

} // namespace kvscope
