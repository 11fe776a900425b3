#include "engine/kernels/bandwidth.h"

#include "engine/kernels/cpu_features.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#ifdef KVSCOPE_X86
#include "engine/kernels/bandwidth_avx2.h"
#endif

namespace kvscope {

namespace {

using SumWords = std::uint64_t (*)(const std::uint64_t* words, std::int64_t count);

std::uint64_t sumWordsPortable(const std::uint64_t* words, std::int64_t count)
{
    std::uint64_t sums[4] = {};
    std::int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (int lane = 0; lane < 4; ++lane)
            sums[lane] += words[i + lane];
    }
    for (; i < count; ++i)
        sums[0] += words[i];
    return sums[0] + sums[1] + sums[2] + sums[3];
}

SumWords bestSumWords()
{
#ifdef KVSCOPE_X86
    if (bestInstructionSet() != InstructionSet::Portable)
        return avx2::sumWords;
#endif
    return sumWordsPortable;
}

} // namespace

double measureReadBandwidth(std::uint64_t bytes, int repeats)
{
    const auto count = static_cast<std::int64_t>(bytes / sizeof(std::uint64_t));
    TORCH_CHECK(count > 0 && repeats > 0, "measureReadBandwidth: nothing to read");
    const at::Tensor buffer = at::empty({count}, at::kLong);
    buffer.fill_(1); // touches every page; untouched ones would all read the same zeros
    const auto* words =
        reinterpret_cast<const std::uint64_t*>(buffer.const_data_ptr<std::int64_t>());
    const auto sumWords = bestSumWords();
    double best = 0;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        std::atomic<std::uint64_t> sum{0};
        const auto start = std::chrono::steady_clock::now();
        at::parallel_for(0, count, 1, [&](std::int64_t first, std::int64_t end) {
            sum += sumWords(words + first, end - first);
        });
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        // Using the sum keeps the loads; it also shows that every word was read once.
        TORCH_CHECK(sum == static_cast<std::uint64_t>(count),
                    "measureReadBandwidth: misread the buffer");
        best = std::max(best, static_cast<double>(count) * sizeof(std::uint64_t) / elapsed.count());
    }
    return best;
}

} // namespace kvscope
