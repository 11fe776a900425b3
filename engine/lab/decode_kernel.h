#pragma once

#include "engine/lab/decode_kernel_report.h"
#include "engine/model/decoder.h"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

namespace kvscope {

struct DecodeKernelOptions
{
    std::vector<std::int64_t> cachedLengths; ///< each at least 1; run in rising order
    std::vector<std::int64_t> batches = {1, 4, 16};
    std::int64_t parts = 0;   ///< of the split rows; 0: as many as there are threads
    std::int64_t repeats = 9; ///< timed runs a row, each of enough calls to be timed
    std::int64_t steps = 12;  ///< whole decode steps a length
    std::uint64_t bandwidthBytes = std::uint64_t{1} << 30; ///< read to measure the memory
    std::uint64_t seed = 0;
};

/// What a run tells while it goes on; may be empty. Called on the running thread.
struct DecodeKernelObserver
{
    std::function<void(const DecodeKernelRow&)> rowDone;
    std::function<void(const DecodeStepRow&)> stepDone;
};

/// One layer's decode attention on the model's own shape and cache type, plain and split over the
/// cache, beside its bytes at the bandwidth measured in the same run; then whole decode steps,
/// whose growth the kernels are held against. Keys and values are random, and each call reads
/// others than the one before, so that they come from memory as in a step. Where the model has
/// windowed layers, the first kind of window has its rows too. On CUDA the kernel chooses its
/// splits itself, so there is one row a length and batch, and no floor.
/// Source: long-context chapter, claim four; inference chapter 4.6.
/// \throws ArgumentError for no lengths, or a number that is not positive; Stopped
DecodeKernelReport measureDecodeKernel(Decoder& decoder, const DecodeKernelOptions& options,
                                       const DecodeKernelObserver& observer, std::stop_token stop);

/// Fills in the report's slopes from its rows and steps, the undisturbed ones alone.
void sumUpSlopes(DecodeKernelReport& report);

} // namespace kvscope
