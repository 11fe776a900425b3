#include "engine/kernels/cuda/cuda_lanes.cuh"
#include "engine/kernels/cuda/top_logits.h"

namespace kvscope {

namespace {

constexpr int kTopThreads = 512;
constexpr int kDistances = 8;
constexpr int kEnough = kMostTopLogits / 4;

/// Orders by logit, of equals the one of the smaller id first.
struct Candidate
{
    float logit;
    int id;
};

__device__ bool isBefore(Candidate a, Candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

__device__ float largestOf(const TopLogitsLaunch& call)
{
    __shared__ float ofWarps[kTopThreads / kWarpLanes];
    float largest = -INFINITY;
    for (int i = threadIdx.x; i < call.count; i += kTopThreads)
        largest = fmaxf(largest, call.logits[i]);
    largest = warpMax(largest);
    if (threadIdx.x % kWarpLanes == 0)
        ofWarps[threadIdx.x / kWarpLanes] = largest;
    __syncthreads();
    for (int warp = 0; warp < kTopThreads / kWarpLanes; ++warp)
        largest = fmaxf(largest, ofWarps[warp]);
    return largest;
}

__device__ void sumAll(const TopLogitsLaunch& call, float largest)
{
    double sum = 0.0;
    float atTemperature = 0.0F;
    const float inverse = 1.0F / call.temperature;
#pragma unroll 4
    for (int i = threadIdx.x; i < call.count; i += kTopThreads) {
        const float below = call.logits[i] - largest;
        sum += static_cast<double>(expf(below));
        atTemperature += expf(below * inverse);
    }
    sum = blockSum<kTopThreads>(sum);
    atTemperature = blockSum<kTopThreads>(atTemperature);
    if (threadIdx.x == 0) {
        call.result->logSumExp = log(sum) + static_cast<double>(largest);
        call.result->largest = largest;
        call.result->sumAtTemperature = atTemperature;
    }
}

/// The largest distance found below which lie no more than kMostTopLogits logits; negative where
/// there is none.
__device__ float distanceOfTop(const TopLogitsLaunch& call, float largest)
{
    // Beyond 40 temperatures a token has less than 1e-17 of the largest's probability. The nearest
    // distances tried are 1e-6 of that, the last digits of a logit.
    constexpr int kMostPasses = 8;
    float fits = -1.0F;
    float low = 0.0F;
    float high = 40.0F * call.temperature;
    for (int pass = 0; pass < kMostPasses; ++pass) {
        const float step = (high - low) / kDistances;
        // From low itself on, since nothing may lie between it and the farthest.
        int counts[kDistances] = {};
        for (int i = threadIdx.x; i < call.count; i += kTopThreads) {
            const float distance = largest - call.logits[i];
#pragma unroll
            for (int d = 0; d < kDistances; ++d)
                counts[d] += distance <= low + static_cast<float>(d) * step ? 1 : 0;
        }
        int within = -1;
        int count = 0;
        for (int d = 0; d < kDistances; ++d) {
            const int all = blockSum<kTopThreads>(counts[d]);
            if (all <= kMostTopLogits) {
                within = d;
                count = all;
            }
        }
        if (within < 0)
            return fits;
        fits = low + static_cast<float>(within) * step;
        const bool areAllNear = pass == 0 && within == kDistances - 1;
        if (count >= kEnough || count == call.count || areAllNear)
            return fits;
        low = fits;
        high = low + step;
    }
    return fits;
}

/// Puts kMostTopLogits candidates in order. Source: Batcher, "Sorting networks and their
/// applications" (1968), the bitonic network.
__device__ void sortCandidates(Candidate* candidates)
{
    for (int size = 2; size <= kMostTopLogits; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            for (int i = threadIdx.x; i < kMostTopLogits; i += kTopThreads) {
                const int other = i ^ stride;
                if (other < i)
                    continue;
                const bool isAscending = (i & size) == 0;
                const Candidate a = candidates[i];
                const Candidate b = candidates[other];
                if (isBefore(b, a) == isAscending) {
                    candidates[i] = b;
                    candidates[other] = a;
                }
            }
        }
    __syncthreads();
}

__global__ void __launch_bounds__(kTopThreads) findTop(TopLogitsLaunch call)
{
    __shared__ Candidate candidates[kMostTopLogits];
    __shared__ int numFound;
    const float largest = largestOf(call);
    sumAll(call, largest);
    const float distance = distanceOfTop(call, largest);
    if (threadIdx.x == 0)
        numFound = 0;
    // Behind every logit, and behind each other.
    for (int i = threadIdx.x; i < kMostTopLogits; i += kTopThreads)
        candidates[i] = {-INFINITY, call.count + i};
    __syncthreads();
    for (int i = threadIdx.x; i < call.count; i += kTopThreads)
        if (largest - call.logits[i] <= distance)
            if (const int place = atomicAdd(&numFound, 1); place < kMostTopLogits)
                candidates[place] = {call.logits[i], i};
    sortCandidates(candidates);
    // More than were counted there are only where a distance rounds otherwise than it did then.
    const int count = numFound <= kMostTopLogits ? numFound : 0;
    for (int i = threadIdx.x; i < count; i += kTopThreads) {
        call.result->logits[i] = candidates[i].logit;
        call.result->ids[i] = candidates[i].id;
    }
    if (threadIdx.x == 0)
        call.result->count = count;
}

} // namespace

cudaError_t launchTopLogits(const TopLogitsLaunch& launch, cudaStream_t stream)
{
    return launchKernel(findTop, dim3(1), kTopThreads, stream, launch);
}

} // namespace kvscope
