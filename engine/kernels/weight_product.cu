#include "engine/kernels/cuda_lanes.cuh"
#include "engine/kernels/k_block_readers.h"
#include "engine/kernels/weight_product.h"

namespace kvscope {

namespace {

constexpr int kProductThreads = 128;
constexpr int kProductWarps = kProductThreads / kWarpLanes;
constexpr int kRowsPerWarp = 4;
constexpr int kStretch = 2048; ///< columns; whole blocks of every format
constexpr int kGroupsPerStretch = kStretch / kGroup;
/// Q8_K's 36.5 bytes a group are the most; a row may begin within a word.
constexpr int kStretchWords = (kGroupsPerStretch * 37 + 3 + 3) / 4;
/// Groups of x lie one word further apart than they are long, so that lanes at work on neighbouring
/// groups read different banks.
constexpr int kGroupStride = kGroup + 1;

KVSCOPE_ANYWHERE constexpr bool isKFormat(StorageType type)
{
    return type == StorageType::Q2_K || type == StorageType::Q3_K || type == StorageType::Q4_K ||
           type == StorageType::Q5_K || type == StorageType::Q6_K || type == StorageType::Q8_K ||
           type == StorageType::IQ4_XS;
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
__device__ const std::byte* stage(const std::byte* from, int bytes, std::uint32_t* to)
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

template <StorageType type, int Inputs>
__global__ void __launch_bounds__(kProductThreads) multiplyRows(WeightProductLaunch call)
{
    __shared__ float x[Inputs][kGroupsPerStretch * kGroupStride];
    __shared__ std::uint32_t staged[kProductWarps][kStretchWords];
    static_assert(sizeof x + sizeof staged <= 48 << 10, "what a block may have without asking");
    const int warp = threadIdx.x / kWarpLanes;
    const int lane = threadIdx.x % kWarpLanes;
    const int firstRow = (static_cast<int>(blockIdx.x) * kProductWarps + warp) * kRowsPerWarp;
    constexpr int kGroupsPerBlock = isKFormat(type) ? 8 : 1;
    const int blockBytes = static_cast<int>(
        call.rowBytes / (call.cols / (static_cast<int>(kGroup) * kGroupsPerBlock)));
    float sums[kRowsPerWarp][Inputs] = {};
    for (int col = 0; col < call.cols; col += kStretch) {
        const int count = call.cols - col < kStretch ? call.cols - col : kStretch;
        __syncthreads(); // all have read what was there before
        for (int n = 0; n < Inputs; ++n)
            for (int i = threadIdx.x; i < count; i += kProductThreads)
                x[n][i / kGroup * kGroupStride + i % kGroup] = loadNumber(
                    call.x, call.number, static_cast<std::int64_t>(n) * call.cols + col + i);
        __syncthreads();
        const int numGroups = count / kGroup;
        const int bytes = numGroups / kGroupsPerBlock * blockBytes;
        const std::int64_t offset =
            static_cast<std::int64_t>(col) / (kGroup * kGroupsPerBlock) * blockBytes;
#pragma unroll
        for (int r = 0; r < kRowsPerWarp; ++r) {
            if (firstRow + r >= call.rows)
                continue; // the whole warp
            const std::byte* blocks =
                stage(call.weight + (firstRow + r) * call.rowBytes + offset, bytes, staged[warp]);
            for (int group = lane; group < numGroups; group += kWarpLanes) {
                std::int8_t integers[kGroup];
                const GroupFactors factors = readGroupAt<type>(blocks, blockBytes, group, integers);
#pragma unroll
                for (int n = 0; n < Inputs; ++n)
                    sums[r][n] += groupDot<type>(factors, integers, &x[n][group * kGroupStride]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < kRowsPerWarp; ++r)
#pragma unroll
        for (int n = 0; n < Inputs; ++n) {
            const float sum = warpSum(sums[r][n]);
            if (lane == 0 && firstRow + r < call.rows)
                storeNumber(call.y, call.number,
                            static_cast<std::int64_t>(n) * call.rows + firstRow + r, sum);
        }
}

template <StorageType type>
cudaError_t launchFor(const WeightProductLaunch& call, cudaStream_t stream)
{
    constexpr int kRowsPerBlock = kProductWarps * kRowsPerWarp;
    const dim3 grid((call.rows + kRowsPerBlock - 1) / kRowsPerBlock);
    const auto kernel = call.numInputs == 1   ? multiplyRows<type, 1>
                        : call.numInputs == 2 ? multiplyRows<type, 2>
                        : call.numInputs == 3 ? multiplyRows<type, 3>
                                              : multiplyRows<type, kMostProductInputs>;
    return launchKernel(kernel, grid, kProductThreads, stream, call);
}

} // namespace

cudaError_t launchWeightProduct(const WeightProductLaunch& launch, cudaStream_t stream)
{
    switch (launch.type) {
    case StorageType::Q8_0:
        return launchFor<StorageType::Q8_0>(launch, stream);
    case StorageType::Q4_0:
        return launchFor<StorageType::Q4_0>(launch, stream);
    case StorageType::Q4_1:
        return launchFor<StorageType::Q4_1>(launch, stream);
    case StorageType::Q5_0:
        return launchFor<StorageType::Q5_0>(launch, stream);
    case StorageType::Q5_1:
        return launchFor<StorageType::Q5_1>(launch, stream);
    case StorageType::IQ4_NL:
        return launchFor<StorageType::IQ4_NL>(launch, stream);
    case StorageType::MXFP4:
        return launchFor<StorageType::MXFP4>(launch, stream);
    case StorageType::Q2_K:
        return launchFor<StorageType::Q2_K>(launch, stream);
    case StorageType::Q3_K:
        return launchFor<StorageType::Q3_K>(launch, stream);
    case StorageType::Q4_K:
        return launchFor<StorageType::Q4_K>(launch, stream);
    case StorageType::Q5_K:
        return launchFor<StorageType::Q5_K>(launch, stream);
    case StorageType::Q6_K:
        return launchFor<StorageType::Q6_K>(launch, stream);
    case StorageType::Q8_K:
        return launchFor<StorageType::Q8_K>(launch, stream);
    case StorageType::IQ4_XS:
        return launchFor<StorageType::IQ4_XS>(launch, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

} // namespace kvscope
