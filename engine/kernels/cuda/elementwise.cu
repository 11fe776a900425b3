#include "engine/kernels/cuda/cuda_gating.cuh"
#include "engine/kernels/cuda/cuda_lanes.cuh"
#include "engine/kernels/cuda/elementwise_launch.h"

namespace kvscope {

namespace {

constexpr int kElementThreads = 256;

__global__ void __launch_bounds__(kElementThreads) rmsNormRow(RmsNormLaunch call)
{
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * call.width;
    float squares = 0.0F;
    for (int i = threadIdx.x; i < call.width; i += kElementThreads) {
        const float x = loadNumber(call.x, call.number, first + i);
        squares += x * x;
    }
    const float mean = blockSum<kElementThreads>(squares) / static_cast<float>(call.width);
    const float factor = 1.0F / sqrtf(mean + call.epsilon);
    for (int i = threadIdx.x; i < call.width; i += kElementThreads)
        storeNumber(call.out, call.number, first + i,
                    loadNumber(call.x, call.number, first + i) * factor * call.gain[i]);
}

__global__ void __launch_bounds__(kElementThreads) rotateToken(RotateLaunch call)
{
    const int token = static_cast<int>(blockIdx.x);
    const std::int64_t row = blockIdx.y * call.strides[0] + token * call.strides[1];
    for (int i = threadIdx.x; i < call.heads * call.pairs; i += kElementThreads) {
        const int pair = i % call.pairs;
        const std::int64_t head = row + i / call.pairs * call.strides[2];
        const std::int64_t a = head + (call.isAdjacent ? 2 * pair : pair);
        const std::int64_t b = head + (call.isAdjacent ? 2 * pair + 1 : pair + call.pairs);
        const float cosine = call.cos[static_cast<std::int64_t>(token) * call.pairs + pair];
        const float sine = call.sin[static_cast<std::int64_t>(token) * call.pairs + pair];
        const float x = loadNumber(call.x, call.number, a);
        const float y = loadNumber(call.x, call.number, b);
        storeNumber(call.x, call.number, a, x * cosine - y * sine);
        storeNumber(call.x, call.number, b, x * sine + y * cosine);
    }
}

__global__ void __launch_bounds__(kElementThreads) gateStretch(GatedLaunch call)
{
    const int i = static_cast<int>(blockIdx.x) * kElementThreads + static_cast<int>(threadIdx.x);
    if (i >= call.width)
        return;
    // Rows beyond what a grid holds are taken by the same blocks.
    for (std::int64_t row = blockIdx.y; row < call.rows; row += gridDim.y)
        storeNumber(call.out, call.number, row * call.width + i,
                    gatedValue(call.gating,
                               loadNumber(call.gate, call.number, row * call.gateStride + i),
                               loadNumber(call.up, call.number, row * call.upStride + i)));
}

constexpr unsigned kMostGridRows = 65535; // of a grid's second dimension

} // namespace

cudaError_t launchRmsNorm(const RmsNormLaunch& launch, cudaStream_t stream)
{
    if (launch.rows == 0 || launch.width == 0)
        return cudaSuccess;
    return launchKernel(rmsNormRow, dim3(static_cast<unsigned>(launch.rows)), kElementThreads,
                        stream, launch);
}

cudaError_t launchRotate(const RotateLaunch& launch, cudaStream_t stream)
{
    if (launch.batch == 0 || launch.tokens == 0 || launch.heads == 0 || launch.pairs == 0)
        return cudaSuccess;
    const dim3 grid(static_cast<unsigned>(launch.tokens), static_cast<unsigned>(launch.batch));
    return launchKernel(rotateToken, grid, kElementThreads, stream, launch);
}

cudaError_t launchGated(const GatedLaunch& launch, cudaStream_t stream)
{
    if (launch.rows == 0 || launch.width == 0)
        return cudaSuccess;
    const auto rows = static_cast<unsigned>(launch.rows);
    const dim3 grid(static_cast<unsigned>((launch.width + kElementThreads - 1) / kElementThreads),
                    rows < kMostGridRows ? rows : kMostGridRows);
    return launchKernel(gateStretch, grid, kElementThreads, stream, launch);
}

} // namespace kvscope
