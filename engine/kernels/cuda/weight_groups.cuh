#pragma once

// How a warp takes rows of block formats apart, for every kernel that multiplies with them.

#include "engine/kernels/cuda/cuda_lanes.cuh"
#include "engine/kernels/linear/k_block_readers.h"

#include <type_traits>

namespace kvscope {
namespace {

constexpr int kProductThreads = 128;
constexpr int kProductWarps = kProductThreads / kWarpLanes;
constexpr int kStretch = 2048; ///< columns of x in shared memory; whole blocks of every format
constexpr int kGroupsPerStretch = kStretch / kGroup;
/// Q8_K's 36.5 bytes a group are the most; a row may begin within a word.
constexpr int kStretchWords = (kGroupsPerStretch * 37 + 3 + 3) / 4;
/// Groups of x lie one word further apart than they are long, so that lanes at work on neighbouring
/// groups read different banks.
constexpr int kGroupStride = kGroup + 1;

/// Where column i of a stretch lies in shared memory.
__device__ inline int placeInStretch(int i)
{
    return i / static_cast<int>(kGroup) * kGroupStride + i % static_cast<int>(kGroup);
}

KVSCOPE_ANYWHERE constexpr bool isKFormat(StorageType type)
{
    return type == StorageType::Q2_K || type == StorageType::Q3_K || type == StorageType::Q4_K ||
           type == StorageType::Q5_K || type == StorageType::Q6_K || type == StorageType::Q8_K ||
           type == StorageType::IQ4_XS;
}

KVSCOPE_ANYWHERE constexpr bool isPlain(StorageType type)
{
    return type == StorageType::F32 || type == StorageType::F16 || type == StorageType::BF16;
}

/// How the numbers of a plain type are stored. \pre isPlain(type)
KVSCOPE_ANYWHERE constexpr CudaNumber plainNumberOf(StorageType type)
{
    return type == StorageType::F32    ? CudaNumber::Float32
           : type == StorageType::BF16 ? CudaNumber::BFloat16
                                       : CudaNumber::Float16;
}

/// Of a row of `cols` columns.
template <StorageType type>
__device__ int blockBytesOf(std::int64_t rowBytes, int cols)
{
    constexpr int kColumns = static_cast<int>(kGroup) * (isKFormat(type) ? 8 : 1);
    return static_cast<int>(rowBytes * kColumns / cols);
}

template <StorageType type>
__device__ GroupFactors readGroupAt(const std::byte* blocks, int blockBytes, int group,
                                    std::int8_t* integers)
{
    if constexpr (isKFormat(type))
        return readKGroup<type>(blocks + group / 8 * blockBytes, group % 8, integers);
    else
        return readBlock<type>(blocks + group * blockBytes, integers);
}

template <StorageType type>
__device__ float groupDot(const GroupFactors& factors, const std::int8_t* integers, const float* x)
{
    constexpr int kHalf = static_cast<int>(kGroup) / 2;
    float dot = 0.0F;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float products = 0.0F;
        float inputs = 0.0F;
#pragma unroll
        for (int i = half * kHalf; i < (half + 1) * kHalf; ++i) {
            products += static_cast<float>(integers[i]) * x[i];
            inputs += x[i];
        }
        dot += factors.scales[half] * products;
        if constexpr (hasOffsets(type))
            dot += factors.offsets[half] * inputs;
    }
    return dot;
}

/// Copies bytes to shared memory by the warp, whole words of aligned memory as such and the bytes
/// around them one by one, so that nothing beside them is read.
/// \returns where the first of them is
__device__ inline const std::byte* stage(const std::byte* from, int bytes, std::uint32_t* to)
{
    const int lane = threadIdx.x % kWarpLanes;
    const int lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 4);
    const int firstWord = lead > 0 ? 1 : 0;
    const int endWord = (lead + bytes) / 4;
    std::byte* staged = reinterpret_cast<std::byte*>(to) + lead;
    __syncwarp(); // all have read what was there before
    for (int i = firstWord + lane; i < endWord; i += kWarpLanes)
        to[i] = *reinterpret_cast<const std::uint32_t*>(from - lead + 4 * i);
    const int before = lead > 0 ? 4 - lead : 0;
    const int behind = endWord * 4 - lead;
    if (lane < before)
        staged[lane] = from[lane];
    if (behind + lane < bytes)
        staged[behind + lane] = from[behind + lane];
    __syncwarp();
    return staged;
}

template <StorageType type>
using BlocksOf = std::integral_constant<StorageType, type>;

/// use(BlocksOf<type>). \returns false where that is no block format
#ifdef __CUDACC__
#pragma nv_exec_check_disable // it runs where `use` does
#endif
template <typename Use>
KVSCOPE_ANYWHERE bool withBlocksOf(StorageType type, const Use& use)
{
    switch (type) {
    case StorageType::Q8_0:
        use(BlocksOf<StorageType::Q8_0>{});
        return true;
    case StorageType::Q4_0:
        use(BlocksOf<StorageType::Q4_0>{});
        return true;
    case StorageType::Q4_1:
        use(BlocksOf<StorageType::Q4_1>{});
        return true;
    case StorageType::Q5_0:
        use(BlocksOf<StorageType::Q5_0>{});
        return true;
    case StorageType::Q5_1:
        use(BlocksOf<StorageType::Q5_1>{});
        return true;
    case StorageType::IQ4_NL:
        use(BlocksOf<StorageType::IQ4_NL>{});
        return true;
    case StorageType::MXFP4:
        use(BlocksOf<StorageType::MXFP4>{});
        return true;
    case StorageType::Q2_K:
        use(BlocksOf<StorageType::Q2_K>{});
        return true;
    case StorageType::Q3_K:
        use(BlocksOf<StorageType::Q3_K>{});
        return true;
    case StorageType::Q4_K:
        use(BlocksOf<StorageType::Q4_K>{});
        return true;
    case StorageType::Q5_K:
        use(BlocksOf<StorageType::Q5_K>{});
        return true;
    case StorageType::Q6_K:
        use(BlocksOf<StorageType::Q6_K>{});
        return true;
    case StorageType::Q8_K:
        use(BlocksOf<StorageType::Q8_K>{});
        return true;
    case StorageType::IQ4_XS:
        use(BlocksOf<StorageType::IQ4_XS>{});
        return true;
    default:
        return false;
    }
}

} // namespace
} // namespace kvscope
