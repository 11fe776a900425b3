#include "engine/kernels/cuda/step_kernels.h"
#include "engine/kernels/cuda/weight_groups.cuh"

namespace kvscope {

namespace {

constexpr int kLayerThreads = 128;
constexpr int kAddThreads = 512; ///< a post-norm has one block

/// A group of a row of the embedding. \param count  kGroup, or less at a plain row's end
__device__ void readGroup(const EmbedLaunch& call, const std::byte* row, int group, int count,
                          float* to)
{
    if (isPlain(call.type)) {
        for (int i = 0; i < count; ++i)
            to[i] = loadNumber(row, plainNumberOf(call.type), group * kGroup + i);
        return;
    }
    std::int8_t integers[kGroup];
    GroupFactors factors;
    withBlocksOf(call.type, [&](auto type) {
        constexpr StorageType kType = decltype(type)::value;
        const int blockBytes = blockBytesOf<kType>(call.rowBytes, call.width);
        factors = readGroupAt<kType>(row, blockBytes, group, integers);
    });
    for (int i = 0; i < count; ++i)
        to[i] = static_cast<float>(integers[i]) * factors.scales[i / 16] + factors.offsets[i / 16];
}

__global__ void __launch_bounds__(kLayerThreads) embedToken(EmbedLaunch call)
{
    const std::byte* row = call.rows + call.token->id * call.rowBytes;
    const int group = static_cast<int>(blockIdx.x) * kLayerThreads + static_cast<int>(threadIdx.x);
    const int first = group * static_cast<int>(kGroup);
    if (first >= call.width)
        return;
    const int left = call.width - first;
    const int count = left < static_cast<int>(kGroup) ? left : static_cast<int>(kGroup);
    float numbers[kGroup];
    readGroup(call, row, group, count, numbers);
    for (int i = 0; i < count; ++i)
        call.x[first + i] = call.scale * numbers[i];
}

/// The sum of squares that a head is normalised by, over the heads that share it, divided by how
/// many numbers they are.
__device__ float meanSquare(const float* heads, int first, int count)
{
    float squares = 0.0F;
    for (int i = threadIdx.x; i < count; i += kLayerThreads)
        squares += heads[first + i] * heads[first + i];
    return blockSum<kLayerThreads>(squares) / static_cast<float>(count);
}

/// A head as it is projected, in shared memory, normalised where it has a gain.
__device__ void loadHead(const StoreHeadsLaunch& call, const float* heads, int head, int numHeads,
                         const float* gain, float* row)
{
    const int first = head * call.headDim;
    float factor = 1.0F;
    if (gain != nullptr) {
        const float mean = call.normsAll ? meanSquare(heads, 0, numHeads * call.headDim)
                                         : meanSquare(heads, first, call.headDim);
        factor = 1.0F / sqrtf(mean + call.epsilon);
    }
    for (int i = threadIdx.x; i < call.headDim; i += kLayerThreads)
        row[i] = gain != nullptr ? heads[first + i] * factor * gain[call.normsAll ? first + i : i]
                                 : heads[first + i];
    __syncthreads();
}

__device__ void turnHead(const StoreHeadsLaunch& call, float* row)
{
    if (call.cos == nullptr)
        return;
    for (int pair = threadIdx.x; pair < call.pairs; pair += kLayerThreads) {
        const int a = call.isAdjacent ? 2 * pair : pair;
        const int b = call.isAdjacent ? 2 * pair + 1 : pair + call.pairs;
        const float x = row[a];
        const float y = row[b];
        row[a] = x * call.cos[pair] - y * call.sin[pair];
        row[b] = x * call.sin[pair] + y * call.cos[pair];
    }
    __syncthreads();
}

__device__ void storeRounded(std::int8_t* to, float number)
{
    *to = static_cast<std::int8_t>(rintf(number));
}
__device__ void storeRounded(__nv_fp8_e4m3* to, float number)
{
    *to = static_cast<__nv_fp8_e4m3>(number);
}

/// As quantizeRow() of scaled_rows.h. \param most  what the largest number becomes
template <typename Element>
__device__ void storeScaled(const float* row, int headDim, Element* to, float most)
{
    float largest = 0.0F;
    bool isFinite = true;
    for (int i = 0; i < headDim; ++i) { // every thread for itself: a head is short
        isFinite = isFinite && fabsf(row[i]) < INFINITY;
        largest = fmaxf(largest, fabsf(row[i]));
    }
    const float inverse = isFinite && largest >= 1e-30F ? most / largest : 0.0F;
    for (int i = threadIdx.x; i < headDim; i += kLayerThreads)
        storeRounded(to + i, inverse > 0.0F ? row[i] * inverse : 0.0F);
    if (threadIdx.x == 0)
        *reinterpret_cast<float*>(to + headDim) = isFinite ? largest / most : NAN;
}

/// \param first  number of the head's first slot
__device__ void storeRow(const StoreHeadsLaunch& call, const float* row, void* array,
                         std::int64_t first)
{
    constexpr int kScale = sizeof(float);
    const std::int64_t slot = call.token->position % call.capacity;
    const int headDim = call.headDim;
    switch (call.cache) {
    case CudaNumber::Int8:
        storeScaled(row, headDim,
                    static_cast<std::int8_t*>(array) + first + slot * (headDim + kScale), 127.0F);
        break;
    case CudaNumber::Fp8:
        storeScaled(row, headDim,
                    static_cast<__nv_fp8_e4m3*>(array) + first + slot * (headDim + kScale), 448.0F);
        break;
    default:
        for (int i = threadIdx.x; i < headDim; i += kLayerThreads)
            storeNumber(array, call.cache, first + slot * headDim + i, row[i]);
    }
}

/// A block has a head: the queries', then the keys', then the values'.
__global__ void __launch_bounds__(kLayerThreads) storeHeads(StoreHeadsLaunch call)
{
    __shared__ float row[kDecodeMaxHeadDim];
    int head = static_cast<int>(blockIdx.x);
    if (head < call.numHeads) {
        loadHead(call, call.q, head, call.numHeads, call.queryGain, row);
        turnHead(call, row);
        for (int i = threadIdx.x; i < call.headDim; i += kLayerThreads)
            call.turned[head * call.headDim + i] = row[i];
        return;
    }
    head -= call.numHeads;
    if (head < call.numKvHeads) {
        loadHead(call, call.k, head, call.numKvHeads, call.keyGain, row);
        turnHead(call, row);
        storeRow(call, row, call.keys, head * call.keyHeadStride);
        return;
    }
    head -= call.numKvHeads;
    loadHead(call, call.v, head, call.numKvHeads, nullptr, row);
    storeRow(call, row, call.values, head * call.valueHeadStride);
}

/// One warp.
__global__ void __launch_bounds__(kWarpLanes) chooseExperts(ChooseExpertsLaunch call)
{
    __shared__ float probabilities[kStepMostExperts];
    const int lane = static_cast<int>(threadIdx.x);
    float largest = -INFINITY;
    for (int e = lane; e < call.numExperts; e += kWarpLanes)
        largest = fmaxf(largest, call.logits[e]);
    largest = warpMax(largest);
    float sum = 0.0F;
    for (int e = lane; e < call.numExperts; e += kWarpLanes) {
        probabilities[e] = expf(call.logits[e] - largest);
        sum += probabilities[e];
    }
    sum = warpSum(sum);
    float chosen = 0.0F;
    for (int rank = 0; rank < call.numActive; ++rank) {
        float best = -1.0F;
        int expert = call.numExperts - 1;
        for (int e = lane; e < call.numExperts; e += kWarpLanes) {
            if (probabilities[e] > best) { // each lane reads what it has written
                best = probabilities[e];
                expert = e;
            }
        }
        for (int offset = kWarpLanes / 2; offset > 0; offset /= 2) {
            const float other = __shfl_xor_sync(kAllLanes, best, offset);
            const int its = __shfl_xor_sync(kAllLanes, expert, offset);
            if (other > best || (other == best && its < expert)) {
                best = other;
                expert = its;
            }
        }
        if (expert % kWarpLanes == lane)
            probabilities[expert] = -2.0F; // not again
        chosen += best;
        if (lane == 0) {
            call.experts[rank] = expert;
            call.weights[rank] = best;
        }
    }
    if (lane == 0)
        for (int rank = 0; rank < call.numActive; ++rank)
            call.weights[rank] /= call.normalises ? chosen : sum;
    const float shared =
        call.sharedGate != nullptr ? 1.0F / (1.0F + expf(-*call.sharedGate)) : 1.0F;
    if (lane < call.numShared)
        call.weights[call.numActive + lane] = shared;
}

__device__ float partsAt(const AddPartsLaunch& call, int i)
{
    float sum = 0.0F;
    for (int part = 0; part < call.numParts; ++part) {
        const float number = call.parts[static_cast<std::int64_t>(part) * call.width + i];
        sum += call.weights != nullptr ? call.weights[part] * number : number;
    }
    return sum;
}

__global__ void __launch_bounds__(kAddThreads) addParts(AddPartsLaunch call)
{
    float factor = call.scale;
    if (call.gain != nullptr) { // one block then
        float squares = 0.0F;
        for (int i = threadIdx.x; i < call.width; i += kAddThreads) {
            const float number = partsAt(call, i);
            squares += number * number;
        }
        const float mean = blockSum<kAddThreads>(squares) / static_cast<float>(call.width);
        factor *= 1.0F / sqrtf(mean + call.epsilon);
    }
    const int step = static_cast<int>(gridDim.x) * kAddThreads;
    for (int i = static_cast<int>(blockIdx.x) * kAddThreads + static_cast<int>(threadIdx.x);
         i < call.width; i += step)
        call.residual[i] +=
            factor * partsAt(call, i) * (call.gain != nullptr ? call.gain[i] : 1.0F);
}

unsigned blocksFor(int count, int threads)
{
    return static_cast<unsigned>((count + threads - 1) / threads);
}

} // namespace

cudaError_t launchEmbed(const EmbedLaunch& launch, cudaStream_t stream)
{
    if (!isPlain(launch.type) && !withBlocksOf(launch.type, [](auto) {}))
        return cudaErrorInvalidValue;
    const int groups = static_cast<int>((launch.width + kGroup - 1) / kGroup);
    return launchKernel(embedToken, dim3(blocksFor(groups, kLayerThreads)), kLayerThreads, stream,
                        launch);
}

cudaError_t launchStoreHeads(const StoreHeadsLaunch& launch, cudaStream_t stream)
{
    return launchKernel(storeHeads,
                        dim3(static_cast<unsigned>(launch.numHeads + 2 * launch.numKvHeads)),
                        kLayerThreads, stream, launch);
}

cudaError_t launchChooseExperts(const ChooseExpertsLaunch& launch, cudaStream_t stream)
{
    return launchKernel(chooseExperts, dim3(1), kWarpLanes, stream, launch);
}

cudaError_t launchAddParts(const AddPartsLaunch& launch, cudaStream_t stream)
{
    const unsigned blocks = launch.gain != nullptr ? 1 : blocksFor(launch.width, kAddThreads);
    return launchKernel(addParts, dim3(blocks), kAddThreads, stream, launch);
}

} // namespace kvscope
