#include "engine/kernels/cuda/cuda_gating.cuh"
#include "engine/kernels/cuda/step_kernels.h"
#include "engine/kernels/cuda/weight_groups.cuh"

namespace kvscope {

namespace {

/// Rows a warp has: of blocks four, which share the stretch of x that all warps have copied.
KVSCOPE_ANYWHERE constexpr int rowsPerWarp(StorageType type)
{
    return isPlain(type) ? 2 : 4;
}

/// Numbers of sixteen bytes.
template <StorageType type>
constexpr int kPerLoad = type == StorageType::F32 ? 4 : 8;

template <StorageType type>
__device__ float plainNumber(const void* from, int index)
{
    return loadNumber(from, plainNumberOf(type), index);
}

/// A lane's part of a stretch of a plain row times x.
template <StorageType type>
__device__ float plainDot(const std::byte* row, const float* x, int count)
{
    const int lane = threadIdx.x % kWarpLanes;
    float sum = 0.0F;
    int done = 0;
    if (reinterpret_cast<std::uintptr_t>(row) % sizeof(uint4) == 0) {
        done = count / kPerLoad<type> * kPerLoad<type>;
#pragma unroll 4
        for (int i = lane * kPerLoad<type>; i < done; i += kWarpLanes * kPerLoad<type>) {
            const uint4 numbers =
                *reinterpret_cast<const uint4*>(row + i * (sizeof(uint4) / kPerLoad<type>));
            const float* inputs = x + placeInStretch(i); // the same group for all of a load
#pragma unroll
            for (int n = 0; n < kPerLoad<type>; ++n)
                sum += plainNumber<type>(&numbers, n) * inputs[n];
        }
    }
    for (int i = done + lane; i < count; i += kWarpLanes)
        sum += plainNumber<type>(row, i) * x[placeInStretch(i)];
    return sum;
}

/// A lane's part of a stretch of a row of blocks times x. Every lane of the warp must call.
/// \param staged  kStretchWords of shared memory
template <StorageType type>
__device__ float blocksDot(const std::byte* row, int blockBytes, const float* x, int count,
                           std::uint32_t* staged)
{
    const int numGroups = count / static_cast<int>(kGroup);
    const int bytes = numGroups / (isKFormat(type) ? 8 : 1) * blockBytes;
    const std::byte* blocks = stage(row, bytes, staged);
    float sum = 0.0F;
    for (int group = threadIdx.x % kWarpLanes; group < numGroups; group += kWarpLanes) {
        std::int8_t integers[kGroup];
        const GroupFactors factors = readGroupAt<type>(blocks, blockBytes, group, integers);
        sum += groupDot<type>(factors, integers, x + group * kGroupStride);
    }
    return sum;
}

/// What x is multiplied by, beside its gain.
__device__ float normFactor(const StepProductLaunch& call, const float* x)
{
    if (call.gain == nullptr)
        return 1.0F;
    float squares = 0.0F;
    for (int i = threadIdx.x; i < call.cols; i += kProductThreads)
        squares += x[i] * x[i];
    const float mean = blockSum<kProductThreads>(squares) / static_cast<float>(call.cols);
    return 1.0F / sqrtf(mean + call.epsilon);
}

template <StorageType type>
__global__ void __launch_bounds__(kProductThreads) multiplyOne(StepProductLaunch call)
{
    __shared__ float x[kGroupsPerStretch * kGroupStride];
    __shared__ std::uint32_t staged[kProductWarps][isPlain(type) ? 1 : kStretchWords];
    constexpr int kRows = rowsPerWarp(type);
    const StepProductPart& part = call.parts[blockIdx.y];
    if (static_cast<int>(blockIdx.x) * kProductWarps * kRows >= part.rows)
        return; // the whole block: another part has more rows
    const int visit = static_cast<int>(blockIdx.z);
    const StepMatrix matrix =
        part.ofExperts != nullptr ? part.ofExperts[call.experts[visit]] : part.matrix;
    const float* input = call.x + visit * call.xStride;
    const float* up = call.up != nullptr ? call.up + visit * call.xStride : nullptr;
    const float factor = normFactor(call, input);

    const int warp = threadIdx.x / kWarpLanes;
    const int lane = threadIdx.x % kWarpLanes;
    const int firstRow = (static_cast<int>(blockIdx.x) * kProductWarps + warp) * kRows;
    const auto perStretch =
        static_cast<std::int64_t>(call.rowBytes * static_cast<std::int64_t>(kStretch) / call.cols);
    const int blockBytes = blockBytesOf<type>(call.rowBytes, call.cols);
    float sums[kRows] = {};
    for (int col = 0; col < call.cols; col += kStretch) {
        const int count = call.cols - col < kStretch ? call.cols - col : kStretch;
        __syncthreads(); // all have read what was there before
        for (int i = threadIdx.x; i < count; i += kProductThreads) {
            float number = input[col + i];
            if (up != nullptr)
                number = gatedValue(call.gating, number, up[col + i]);
            if (call.gain != nullptr)
                number *= factor * call.gain[col + i];
            x[placeInStretch(i)] = number;
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            if (firstRow + r >= part.rows)
                continue; // the whole warp
            const std::byte* row =
                matrix.weight + (firstRow + r) * call.rowBytes + col / kStretch * perStretch;
            if constexpr (isPlain(type))
                sums[r] += plainDot<type>(row, x, count);
            else
                sums[r] += blocksDot<type>(row, blockBytes, x, count, staged[warp]);
        }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        const float sum = warpSum(sums[r]);
        const int row = firstRow + r;
        if (lane != 0 || row >= part.rows)
            continue;
        const float y = matrix.bias != nullptr ? sum + matrix.bias[row] : sum;
        float* to = part.y + static_cast<std::int64_t>(visit) * part.rows + row;
        *to = call.adds ? *to + call.scale * y : y;
    }
}

template <StorageType type>
cudaError_t launchFor(const StepProductLaunch& call, cudaStream_t stream)
{
    constexpr int kRowsPerBlock = kProductWarps * rowsPerWarp(type);
    int rows = 0;
    for (int i = 0; i < call.numParts; ++i)
        rows = call.parts[i].rows > rows ? call.parts[i].rows : rows;
    const dim3 grid(static_cast<unsigned>((rows + kRowsPerBlock - 1) / kRowsPerBlock),
                    static_cast<unsigned>(call.numParts), static_cast<unsigned>(call.visits));
    return launchKernel(multiplyOne<type>, grid, kProductThreads, stream, call);
}

} // namespace

cudaError_t launchStepProduct(const StepProductLaunch& launch, cudaStream_t stream)
{
    switch (launch.type) {
    case StorageType::F32:
        return launchFor<StorageType::F32>(launch, stream);
    case StorageType::F16:
        return launchFor<StorageType::F16>(launch, stream);
    case StorageType::BF16:
        return launchFor<StorageType::BF16>(launch, stream);
    default:
        break;
    }
    cudaError_t error = cudaErrorInvalidValue;
    withBlocksOf(launch.type,
                 [&](auto type) { error = launchFor<decltype(type)::value>(launch, stream); });
    return error;
}

} // namespace kvscope
