#include "engine/kernels/cuda/cuda_lanes.cuh"
#include "engine/kernels/cuda/decode_attention.h"

namespace kvscope {

namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kTileKeys = 64;
constexpr int kLanesPerKey = 8;

__device__ std::int64_t offsetOf(const std::int64_t (&strides)[3], std::int64_t index)
{
    return blockIdx.z * strides[0] + blockIdx.y * strides[1] + index * strides[2];
}

/// The positions that are attended to, and how they are shared out.
struct SplitKeys
{
    std::int64_t begin;
    std::int64_t end;
    std::int64_t perSplit;
    int numSplits; ///< that have keys
};

__device__ SplitKeys splitKeys(const DecodeAttentionLaunch& call)
{
    if (call.position == nullptr)
        return {call.begin, call.end, call.keysPerSplit, call.numSplits};
    const std::int64_t end = *call.position + 1;
    const std::int64_t begin = call.window > 0 && call.window < end ? end - call.window : 0;
    // Whole tiles, so that a short history is not spread over splits of a few keys.
    std::int64_t perSplit = (end - begin + call.numSplits - 1) / call.numSplits;
    perSplit = (perSplit + kTileKeys - 1) / kTileKeys * kTileKeys;
    return {begin, end, perSplit, static_cast<int>((end - begin + perSplit - 1) / perSplit)};
}

/// The piece where a key lies, and its index there. \param place  its position, or in slots its
/// slot, which may be counted on beyond the last
__device__ const DecodePiece& pieceOf(const DecodeAttentionLaunch& call, std::int64_t place,
                                      std::int64_t& index)
{
    index = place;
    if (call.capacity > 0) {
        index -= index >= call.capacity ? call.capacity : 0;
        return call.pieces[0];
    }
    int i = 0;
    while (i + 1 < call.numPieces && index >= call.pieces[i + 1].firstPosition)
        ++i;
    index -= call.pieces[i].firstPosition;
    return call.pieces[i];
}

template <typename Element>
__device__ const Element* keyAt(const DecodeAttentionLaunch& call, std::int64_t place)
{
    std::int64_t index = 0;
    const DecodePiece& piece = pieceOf(call, place, index);
    return static_cast<const Element*>(piece.keys) + offsetOf(piece.keyStrides, index);
}

template <typename Element>
__device__ const Element* valueAt(const DecodeAttentionLaunch& call, std::int64_t place)
{
    std::int64_t index = 0;
    const DecodePiece& piece = pieceOf(call, place, index);
    return static_cast<const Element*>(piece.values) + offsetOf(piece.valueStrides, index);
}

/// What a row's numbers are multiplied by.
template <typename Element>
__device__ float scaleOf(const Element* /*row*/, int /*headDim*/)
{
    return 1.0F;
}
__device__ float scaleOf(const std::int8_t* row, int headDim)
{
    return *reinterpret_cast<const float*>(row + headDim);
}
__device__ float scaleOf(const __nv_fp8_e4m3* row, int headDim)
{
    return *reinterpret_cast<const float*>(row + headDim);
}

/// What a block's threads share. MaxGroup >= call.group; the rows beyond it hold zeros or are not
/// read.
template <int MaxGroup>
struct SplitState
{
    float q[MaxGroup * kDecodeMaxHeadDim]; ///< [MaxGroup, D], scaled
    float scores[MaxGroup][kTileKeys];
    float max[MaxGroup];
    float sum[MaxGroup];
    float alpha[MaxGroup];
    float reduced[MaxGroup * 2 * kThreads]; ///< [threads per column pair, MaxGroup, D]
};

/// scores[g][k] = q[g] . key k: eight lanes a key, sixteen keys at a time.
template <int MaxGroup, typename Element>
__device__ void scoreTile(const DecodeAttentionLaunch& call, SplitState<MaxGroup>& state,
                          std::int64_t tile, int numKeys)
{
    const int lane = threadIdx.x % kLanesPerKey;
    const int pairs = call.headDim / 2;
    for (int k = threadIdx.x / kLanesPerKey; k < kTileKeys; k += kThreads / kLanesPerKey) {
        float dots[MaxGroup] = {};
        float scale = 0.0F;
        if (k < numKeys) {
            const Element* key = keyAt<Element>(call, tile + k);
            scale = scaleOf(key, call.headDim);
#pragma unroll 4
            for (int p = lane; p < pairs; p += kLanesPerKey) {
                const float2 x = loadPair(key + 2 * p);
                for (int g = 0; g < MaxGroup; ++g) {
                    const float* q = state.q + g * call.headDim + 2 * p;
                    dots[g] += x.x * q[0] + x.y * q[1];
                }
            }
        }
        // Every lane takes part, also those whose key lies beyond the end.
        for (int g = 0; g < MaxGroup; ++g) {
            for (int offset = kLanesPerKey / 2; offset > 0; offset /= 2)
                dots[g] += __shfl_xor_sync(kAllLanes, dots[g], offset);
            if (lane == 0)
                state.scores[g][k] = k < numKeys ? dots[g] * scale : -INFINITY;
        }
    }
}

/// Scores become exp(score - max), one warp a row; max, sum and alpha move on.
template <int MaxGroup>
__device__ void softmaxTile(const DecodeAttentionLaunch& call, SplitState<MaxGroup>& state)
{
    static_assert(kTileKeys == 64, "two keys a lane");
    const int lane = threadIdx.x % 32;
    for (int g = threadIdx.x / 32; g < call.group; g += kWarps) {
        const float a = state.scores[g][lane];
        const float b = state.scores[g][lane + 32];
        const float oldMax = state.max[g];
        const float newMax = fmaxf(oldMax, warpMax(fmaxf(a, b)));
        const float weightA = expf(a - newMax);
        const float weightB = expf(b - newMax);
        state.scores[g][lane] = weightA;
        state.scores[g][lane + 32] = weightB;
        const float sum = warpSum(weightA + weightB);
        __syncwarp(); // every lane has read the largest score
        if (lane == 0) {
            const float alpha = expf(oldMax - newMax);
            state.alpha[g] = alpha;
            state.sum[g] = state.sum[g] * alpha + sum;
            state.max[g] = newMax;
        }
    }
}

/// One split of one key/value head's keys for one sequence. Each thread sums the values of two
/// columns over every n-th key, n being how often the columns fit into the block.
template <int MaxGroup, typename Element>
__global__ void __launch_bounds__(kThreads) attendSplit(DecodeAttentionLaunch call)
{
    __shared__ SplitState<MaxGroup> state;
    static_assert(sizeof state <= 48 << 10, "what a block may have without asking");
    const int split = static_cast<int>(blockIdx.x);
    const SplitKeys keys = splitKeys(call);
    if (split >= keys.numSplits)
        return; // the whole block; nobody reads what it would leave
    const int numHeads = call.numKvHeads * call.group;
    const std::int64_t firstHead = static_cast<std::int64_t>(blockIdx.z) * numHeads +
                                   static_cast<std::int64_t>(blockIdx.y) * call.group;
    const int headDim = call.headDim;

    for (int i = threadIdx.x; i < MaxGroup * headDim; i += kThreads)
        state.q[i] = i < call.group * headDim
                         ? loadNumber(call.q, call.queryType, firstHead * headDim + i) * call.scale
                         : 0.0F;
    if (threadIdx.x < MaxGroup) {
        state.max[threadIdx.x] = -INFINITY;
        state.sum[threadIdx.x] = 0.0F;
        state.alpha[threadIdx.x] = 0.0F;
    }
    __syncthreads();

    const int pairs = headDim / 2;
    const int column = 2 * (threadIdx.x % pairs);
    const int subset = threadIdx.x / pairs;
    const int numSubsets = kThreads / pairs;
    float2 acc[MaxGroup] = {};

    const std::int64_t begin = keys.begin + split * keys.perSplit;
    const std::int64_t end = begin + keys.perSplit < keys.end ? begin + keys.perSplit : keys.end;
    // Where a tile lies moves on with its position: one division for all of them.
    std::int64_t tile = call.capacity > 0 ? begin % call.capacity : begin;
    for (std::int64_t first = begin; first < end; first += kTileKeys) {
        const int numKeys = end - first < kTileKeys ? static_cast<int>(end - first) : kTileKeys;
        scoreTile<MaxGroup, Element>(call, state, tile, numKeys);
        __syncthreads();
        softmaxTile(call, state);
        __syncthreads();
        if (subset < numSubsets) {
            for (int g = 0; g < MaxGroup; ++g) {
                acc[g].x *= state.alpha[g];
                acc[g].y *= state.alpha[g];
            }
#pragma unroll 4
            for (int k = subset; k < numKeys; k += numSubsets) {
                const Element* row = valueAt<Element>(call, tile + k);
                const float scale = scaleOf(row, headDim);
                const float2 pair = loadPair(row + column);
                const float2 value = make_float2(pair.x * scale, pair.y * scale);
                for (int g = 0; g < MaxGroup; ++g) {
                    acc[g].x += state.scores[g][k] * value.x;
                    acc[g].y += state.scores[g][k] * value.y;
                }
            }
        }
        __syncthreads();
        tile += kTileKeys;
        tile -= call.capacity > 0 && tile >= call.capacity ? call.capacity : 0;
    }

    if (subset < numSubsets) {
        for (int g = 0; g < MaxGroup; ++g) {
            float* to = state.reduced + (subset * MaxGroup + g) * headDim + column;
            to[0] = acc[g].x;
            to[1] = acc[g].y;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < call.group * headDim; i += kThreads) {
        float total = 0.0F;
        for (int s = 0; s < numSubsets; ++s)
            total += state.reduced[s * MaxGroup * headDim + i];
        const std::int64_t head = firstHead + i / headDim;
        call.partialValues[(head * call.numSplits + split) * headDim + i % headDim] = total;
    }
    if (threadIdx.x < call.group) {
        float* to = call.partialStates + ((firstHead + threadIdx.x) * call.numSplits + split) * 2;
        to[0] = state.max[threadIdx.x];
        to[1] = state.sum[threadIdx.x];
    }
}

/// One block a query head and sequence.
__global__ void __launch_bounds__(kThreads) mergeSplits(DecodeAttentionLaunch call)
{
    __shared__ float weights[kDecodeMostSplits];
    const int numSplits = splitKeys(call).numSplits;
    const std::int64_t head = static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
    const float* states = call.partialStates + head * call.numSplits * 2;
    const float* values = call.partialValues + head * call.numSplits * call.headDim;
    float max = -INFINITY; // every warp finds it for itself
    for (int s = threadIdx.x % kWarpLanes; s < numSplits; s += kWarpLanes)
        max = fmaxf(max, states[2 * s]);
    max = warpMax(max);
    float ofThread = 0.0F;
    for (int s = threadIdx.x; s < numSplits; s += kThreads) {
        weights[s] = expf(states[2 * s] - max);
        ofThread += states[2 * s + 1] * weights[s];
    }
    float sum = blockSum<kThreads>(ofThread); // behind it all weights are there
    if (call.sinks != nullptr)
        sum += expf(call.sinks[blockIdx.x] - max);
    for (int d = threadIdx.x; d < call.headDim; d += kThreads) {
        float total = 0.0F;
#pragma unroll 4
        for (int s = 0; s < numSplits; ++s)
            total += values[s * call.headDim + d] * weights[s];
        storeNumber(call.out, call.queryType, head * call.headDim + d, total / sum);
    }
}

template <typename Element>
cudaError_t launchSplits(const DecodeAttentionLaunch& call, cudaStream_t stream)
{
    const dim3 grid(call.numSplits, call.numKvHeads, call.batch);
    const auto kernel = call.group == 1   ? attendSplit<1, Element>
                        : call.group == 2 ? attendSplit<2, Element>
                        : call.group <= 4 ? attendSplit<4, Element>
                        : call.group <= 8 ? attendSplit<8, Element>
                                          : attendSplit<kDecodeMaxGroup, Element>;
    return launchKernel(kernel, grid, kThreads, stream, call);
}

cudaError_t launchAllSplits(const DecodeAttentionLaunch& call, cudaStream_t stream)
{
    switch (call.keyType) {
    case CudaNumber::BFloat16:
        return launchSplits<__nv_bfloat16>(call, stream);
    case CudaNumber::Float16:
        return launchSplits<__half>(call, stream);
    case CudaNumber::Int8:
        return launchSplits<std::int8_t>(call, stream);
    case CudaNumber::Fp8:
        return launchSplits<__nv_fp8_e4m3>(call, stream);
    default:
        return launchSplits<float>(call, stream);
    }
}

} // namespace

cudaError_t launchDecodeAttention(const DecodeAttentionLaunch& launch, cudaStream_t stream)
{
    const cudaError_t first = launchAllSplits(launch, stream);
    if (first != cudaSuccess)
        return first;
    const dim3 heads(launch.numKvHeads * launch.group, launch.batch);
    return launchKernel(mergeSplits, heads, kThreads, stream, launch);
}

} // namespace kvscope
