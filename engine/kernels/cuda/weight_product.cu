#include "engine/kernels/cuda/weight_groups.cuh"
#include "engine/kernels/cuda/weight_product.h"

namespace kvscope {

namespace {

constexpr int kRowsPerWarp = 4;

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
    const int blockBytes = blockBytesOf<type>(call.rowBytes, call.cols);
    float sums[kRowsPerWarp][Inputs] = {};
    for (int col = 0; col < call.cols; col += kStretch) {
        const int count = call.cols - col < kStretch ? call.cols - col : kStretch;
        __syncthreads(); // all have read what was there before
        for (int n = 0; n < Inputs; ++n)
            for (int i = threadIdx.x; i < count; i += kProductThreads)
                x[n][placeInStretch(i)] = loadNumber(
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
    cudaError_t error = cudaErrorInvalidValue;
    withBlocksOf(launch.type,
                 [&](auto type) { error = launchFor<decltype(type)::value>(launch, stream); });
    return error;
}

} // namespace kvscope
