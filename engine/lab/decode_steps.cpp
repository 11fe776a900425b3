#include "engine/lab/decode_steps.h"

#include "engine/generate/prefill.h"
#include "engine/lab/latency_load.h"
#include "engine/lab/memory_costs.h"

#include <ATen/Parallel.h>
#include <ATen/ops/randn.h>

#include <algorithm>

namespace kvscope {
namespace {

constexpr std::int64_t kWarmUpSteps = 2;

TimedRun timeStep(Decoder& decoder, MixedKVCache& cache, TokenId id, const ForwardOptions& forward)
{
    const LoadWatch watch;
    decoder.forward(idsTensor(&id, 1), &cache, forward).argmax().item<std::int64_t>();
    const double seconds = watch.seconds();
    return {seconds, watch.waitShare(at::get_num_threads())};
}

} // namespace

std::optional<DecodeStepRow> timeDecodeSteps(Decoder& decoder, MixedKVCache& cache,
                                             const DecodeStepsOptions& options,
                                             const std::stop_token& stop)
{
    const ModelConfig& config = decoder.config();
    const std::int64_t cached = cache.seqLen();
    const std::int64_t steps = kWarmUpSteps + options.steps;
    if (config.hasLearnedPositions && cached + steps > config.trainedPositions)
        return std::nullopt;
    cache.reserve(cached + steps); // so that no step copies a growing array
    ForwardOptions forward;
    forward.stop = stop;
    forward.plannedLength = options.plannedLength;
    forward.path = options.path;
    std::vector<TimedRun> timed;
    for (std::int64_t step = 0; step < steps; ++step) {
        const TimedRun run = timeStep(decoder, cache, options.anyToken(), forward);
        if (step >= kWarmUpSteps)
            timed.push_back(run);
    }
    DecodeStepRow row = decodeRow(cached, timed);
    row.weightBytes = decoder.activeWeightBytes();
    row.cacheBytes =
        kvBytes(config, std::max<std::int64_t>(1, cached), decoder.cacheNumbers()).total();
    if (options.bytesPerSecond > 0.0)
        row.floorSeconds =
            static_cast<double>(row.weightBytes + row.cacheBytes) / options.bytesPerSecond;
    return row;
}

DecodeStepRow decodeRow(std::int64_t cachedTokens, const std::vector<TimedRun>& steps)
{
    DecodeStepRow row;
    row.cachedTokens = cachedTokens;
    row.numSteps = std::ssize(steps);
    row.numDisturbed = std::count_if(steps.begin(), steps.end(),
                                     [](const TimedRun& run) { return run.isDisturbed(); });
    std::vector<double> seconds;
    for (const TimedRun& run : steps)
        if (row.isDisturbed() || !run.isDisturbed())
            seconds.push_back(run.seconds);
    std::sort(seconds.begin(), seconds.end());
    const std::size_t middle = seconds.size() / 2;
    row.medianSeconds =
        seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2.0;
    row.bestSeconds = seconds.front();
    return row;
}

void fillWithRandom(MixedKVCache& cache, std::int64_t numTokens, const std::stop_token& stop)
{
    constexpr std::int64_t kPiece = 1024;
    const CacheShape& shape = cache.shape();
    cache.reserve(cache.seqLen() + numTokens + kPiece);
    for (std::int64_t done = 0; done < numTokens;) {
        if (stop.stop_requested())
            throw Stopped{};
        const std::int64_t count = std::min(kPiece, numTokens - done);
        cache.beginChunk(count);
        for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
            const at::Tensor random =
                at::randn({shape.batch, shape.numKvHeads, count, shape.headDim},
                          cache.options().dtype(at::kFloat));
            cache.stage(static_cast<std::int64_t>(layer), random, random);
        }
        cache.commitChunk();
        done += count;
    }
}

} // namespace kvscope
