#include "engine/kernels/cpu_features.h"

namespace kvscope {

namespace {

InstructionSet detectInstructionSet()
{
#ifdef KVSCOPE_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("f16c"))
        return InstructionSet::Avx2;
#endif
    return InstructionSet::Portable;
}

} // namespace

InstructionSet bestInstructionSet()
{
    static const InstructionSet best = detectInstructionSet();
    return best;
}

bool hasBFloat16Products()
{
#ifdef KVSCOPE_AVX2
    return __builtin_cpu_supports("amx-bf16") || __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

bool hasWideMatrixLibrary()
{
#ifdef KVSCOPE_AVX2
    return __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

} // namespace kvscope
