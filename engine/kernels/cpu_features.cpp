#include "engine/kernels/cpu_features.h"

#if defined(KVSCOPE_X86) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace kvscope {

namespace {

std::vector<InstructionSet> detectInstructionSets()
{
    std::vector<InstructionSet> sets{InstructionSet::Portable};
#ifdef KVSCOPE_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("f16c"))
        sets.push_back(InstructionSet::Avx2);
    if (sets.back() == InstructionSet::Avx2 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        sets.push_back(InstructionSet::Avx512);
#endif
    return sets;
}

bool detectTiles()
{
#if defined(KVSCOPE_X86) && defined(__linux__)
    // Linux saves tiles only for processes that ask (Documentation/arch/x86/xstate.rst).
    constexpr long kRequestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;              // XFEATURE_XTILEDATA
    return hasVnni() && __builtin_cpu_supports("amx-bf16") && __builtin_cpu_supports("amx-tile") &&
           syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}

} // namespace

const std::vector<InstructionSet>& availableInstructionSets()
{
    static const std::vector<InstructionSet> sets = detectInstructionSets();
    return sets;
}

InstructionSet bestInstructionSet()
{
    return availableInstructionSets().back();
}

bool hasVnni()
{
#ifdef KVSCOPE_X86
    return bestInstructionSet() == InstructionSet::Avx512 && __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

bool hasAvxVnni()
{
#ifdef KVSCOPE_X86
    return bestInstructionSet() != InstructionSet::Portable && __builtin_cpu_supports("avxvnni");
#else
    return false;
#endif
}

bool hasTiles()
{
    static const bool isGranted = detectTiles();
    return isGranted;
}

bool hasBFloat16Products()
{
#ifdef KVSCOPE_X86
    return __builtin_cpu_supports("amx-bf16") || __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

const char* instructionSetNames()
{
    switch (bestInstructionSet()) {
    case InstructionSet::Avx512:
        return hasTiles() ? "AVX-512 with VNNI, AMX" : hasVnni() ? "AVX-512 with VNNI" : "AVX-512";
    case InstructionSet::Avx2:
        return hasAvxVnni() ? "AVX2 with VNNI" : "AVX2";
    case InstructionSet::Portable:
        break;
    }
    return "portable";
}

} // namespace kvscope
