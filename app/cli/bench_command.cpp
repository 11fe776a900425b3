#include "app/cli/cli_context.h"
#include "engine/base/memory_reading.h"
#include "engine/base/units.h"
#include "engine/generate/prefill.h"
#include "engine/kernels/bandwidth.h"

#include <ATen/ops/randn.h>

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <memory>
#include <random>

namespace kvscope {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions
{
    CommonOptions common;
    std::string cached = "16,1024";
    std::string prefill = "512";
    std::int64_t chunk = 512;
    std::int64_t steps = 32;
};

/// One decode measurement. The floor is arithmetic on measured bandwidth.
struct DecodeRow
{
    std::int64_t cached = 0;
    double medianSeconds = 0.0;
    double bestSeconds = 0.0;
    std::uint64_t bytes = 0; ///< active weights + live cache
    double floorSeconds = 0.0;
};

struct PrefillRow
{
    std::int64_t tokens = 0;
    double seconds = 0.0;
};

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

void stopIfAsked(const CliContext& context)
{
    if (context.stop.stop_requested())
        throw Stopped{};
}

/// Random keys and values straight into the cache: what a step costs does not depend on them.
void fillCache(MixedKVCache& cache, std::int64_t numTokens, const CliContext& context)
{
    const CacheShape& shape = cache.shape();
    cache.reserve(numTokens + 1024);
    for (std::int64_t done = 0; done < numTokens;) {
        stopIfAsked(context);
        const std::int64_t count = std::min<std::int64_t>(1024, numTokens - done);
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

DecodeRow measureDecode(Decoder& decoder, const BenchOptions& options, std::int64_t cached,
                        double bandwidth, const CliContext& context)
{
    MixedKVCache cache = decoder.makeCache();
    requireCacheFits(decoder, cache, cached + options.steps + 4);
    fillCache(cache, cached, context);
    std::mt19937_64 random(options.common.seed);
    std::uniform_int_distribution<std::int64_t> anyId(0, decoder.config().vocabularySize - 1);
    std::vector<double> seconds;
    DecodeRow row;
    row.cached = cached;
    constexpr std::int64_t kWarmUp = 3;
    for (std::int64_t step = 0; step < options.steps + kWarmUp; ++step) {
        stopIfAsked(context);
        const TokenId id = anyId(random);
        if (step == kWarmUp)
            row.bytes = decoder.activeWeightBytes() + cache.liveBytes();
        const auto start = Clock::now();
        decoder.forward(idsTensor(&id, 1), &cache);
        if (step >= kWarmUp)
            seconds.push_back(secondsSince(start));
    }
    std::sort(seconds.begin(), seconds.end());
    row.medianSeconds = seconds[seconds.size() / 2];
    row.bestSeconds = seconds.front();
    row.floorSeconds = static_cast<double>(row.bytes) / bandwidth;
    return row;
}

PrefillRow measurePrefill(Decoder& decoder, const BenchOptions& options, std::int64_t tokens,
                          const CliContext& context)
{
    Context cached(decoder.makeCache());
    requireCacheFits(decoder, cached.cache(), tokens);
    std::mt19937_64 random(options.common.seed);
    std::uniform_int_distribution<std::int64_t> anyId(0, decoder.config().vocabularySize - 1);
    GenerationRequest request;
    request.chunkTokens = options.chunk;
    for (std::int64_t i = 0; i < tokens; ++i)
        request.prompt.push_back(anyId(random));
    const auto start = Clock::now();
    prefill(decoder, cached, request, {}, context.stop);
    return {tokens, secondsSince(start)};
}

Json benchJson(const BenchOptions& options, const Decoder& decoder, double bandwidth,
               const std::vector<DecodeRow>& decode, const std::vector<PrefillRow>& prefills)
{
    Json json = recipe(options.common, decoder);
    json["read_bandwidth_bytes_per_second"] = bandwidth;
    json["active_weight_bytes"] = decoder.activeWeightBytes();
    json["decode"] = Json::array();
    for (const DecodeRow& row : decode)
        json["decode"].push_back({{"cached", row.cached},
                                  {"median_seconds", row.medianSeconds},
                                  {"best_seconds", row.bestSeconds},
                                  {"tokens_per_second", 1.0 / row.medianSeconds},
                                  {"bytes", row.bytes},
                                  {"floor_seconds", row.floorSeconds},
                                  {"times_floor", row.medianSeconds / row.floorSeconds}});
    json["prefill"] = Json::array();
    for (const PrefillRow& row : prefills)
        json["prefill"].push_back(
            {{"tokens", row.tokens},
             {"seconds", row.seconds},
             {"tokens_per_second", static_cast<double>(row.tokens) / row.seconds}});
    json["peak_resident_bytes"] = readProcessMemory().peakResident;
    return json;
}

void printBench(std::ostream& out, const Decoder& decoder, double bandwidth,
                const std::vector<DecodeRow>& decode, const std::vector<PrefillRow>& prefills)
{
    out << decoder.computeDescription() << " on " << decoder.device() << "\nmemory read bandwidth "
        << std::fixed << std::setprecision(1) << bandwidth / 1e9
        << " GB/s (best of 5 reads of 1 GiB)\n\n"
        << "  cached   step median   best      tok/s    bytes       floor     median/floor\n";
    for (const DecodeRow& row : decode)
        out << std::setw(8) << formatCount(row.cached) << std::setw(11) << std::setprecision(2)
            << row.medianSeconds * 1e3 << " ms" << std::setw(8) << row.bestSeconds * 1e3 << " ms"
            << std::setw(8) << std::setprecision(1) << 1.0 / row.medianSeconds << std::setw(13)
            << formatBytes(row.bytes) << std::setw(9) << std::setprecision(2)
            << row.floorSeconds * 1e3 << " ms" << std::setw(11)
            << row.medianSeconds / row.floorSeconds << '\n';
    out << '\n';
    for (const PrefillRow& row : prefills)
        out << "  prefill " << formatCount(row.tokens) << " tokens: " << formatSeconds(row.seconds)
            << ", " << std::setprecision(1) << static_cast<double>(row.tokens) / row.seconds
            << " tok/s\n";
    out << "\npeak memory " << formatBytes(readProcessMemory().peakResident) << " resident\n"
        << std::flush;
}

void runBench(const BenchOptions& options, const CliContext& context)
{
    const auto decoder = buildDecoder(options.common, context, openFor(options.common));
    const double bandwidth = measureReadBandwidth();
    std::vector<DecodeRow> decode;
    for (const std::int64_t cached : parsedLengths(options.cached))
        decode.push_back(measureDecode(*decoder, options, cached, bandwidth, context));
    std::vector<PrefillRow> prefills;
    for (const std::int64_t tokens : parsedLengths(options.prefill))
        prefills.push_back(measurePrefill(*decoder, options, tokens, context));
    if (options.common.isJson)
        context.out << jsonLine(benchJson(options, *decoder, bandwidth, decode, prefills));
    else
        printBench(context.out, *decoder, bandwidth, decode, prefills);
}

} // namespace

void addBenchCommand(CLI::App& app, CliContext& context)
{
    auto options = std::make_shared<BenchOptions>();
    CLI::App* command =
        app.add_subcommand("bench", "Decode and prefill speed beside the bytes they must read");
    addCommonOptions(*command, options->common, ModelArgument::Required);
    command->add_option("--cached", options->cached, "cached lengths to decode at")
        ->capture_default_str();
    command->add_option("--prefill", options->prefill, "prompt lengths to prefill")
        ->capture_default_str();
    command->add_option("--chunk", options->chunk, "prefill chunk; 0: one shot")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command->add_option("--steps", options->steps, "decode steps a length")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    command->callback([options, &context] { runBench(*options, context); });
}

} // namespace kvscope
