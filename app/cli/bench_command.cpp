#include "app/cli/cli_context.h"
#include "engine/base/errors.h"
#include "engine/base/memory_reading.h"
#include "engine/base/units.h"
#include "engine/generate/prefill.h"
#include "engine/lab/decode_steps.h"
#include "engine/lab/latency_load.h"
#include "engine/lab/latency_report.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <iomanip>
#include <memory>
#include <random>

namespace kvscope {
namespace {

constexpr std::uint64_t kBandwidthBytes = std::uint64_t{1} << 30; // beyond every cache

struct BenchOptions
{
    CommonOptions common;
    std::string cached = "16,1024";
    std::string prefill = "512";
    std::int64_t chunk = 512;
    std::int64_t steps = 32;
};

struct PrefillRow
{
    std::int64_t tokens = 0;
    TimedRun run;
};

DecodeStepRow measureDecode(Decoder& decoder, const BenchOptions& options, std::int64_t cached,
                            double bandwidth, const CliContext& context)
{
    MixedKVCache cache = decoder.makeCache();
    requireCacheFits(decoder, cache, cached + options.steps + 4);
    fillWithRandom(cache, cached, context.stop);
    std::mt19937_64 random(options.common.seed);
    std::uniform_int_distribution<TokenId> anyId(0, decoder.config().vocabularySize - 1);
    const auto row = timeDecodeSteps(
        decoder, cache, {options.steps, 0, bandwidth, [&] { return anyId(random); }}, context.stop);
    if (!row)
        throw ArgumentError(formatCount(cached) +
                            " cached tokens and the steps are more than the " +
                            formatCount(decoder.config().trainedPositions) + " learned positions");
    return *row;
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
    const LoadWatch watch;
    prefill(decoder, cached, request, {}, context.stop);
    const double seconds = watch.seconds();
    return {tokens, {seconds, watch.waitShare(at::get_num_threads())}};
}

Json benchJson(const BenchOptions& options, const Decoder& decoder,
               const MeasuredBandwidth& bandwidth, const std::vector<DecodeStepRow>& decode,
               const std::vector<PrefillRow>& prefills)
{
    Json json = recipe(options.common, decoder);
    json["read_bandwidth_bytes_per_second"] = bandwidth.bytesPerSecond;
    json["read_bandwidth_disturbed"] = bandwidth.isDisturbed;
    json["active_weight_bytes"] = decoder.activeWeightBytes();
    json["decode"] = Json::array();
    for (const DecodeStepRow& row : decode)
        json["decode"].push_back({{"cached", row.cachedTokens},
                                  {"median_seconds", row.medianSeconds},
                                  {"best_seconds", row.bestSeconds},
                                  {"tokens_per_second", 1.0 / row.medianSeconds},
                                  {"bytes", row.weightBytes + row.cacheBytes},
                                  {"floor_seconds", row.floorSeconds},
                                  {"disturbed_steps", row.numDisturbed},
                                  {"times_floor", row.medianSeconds / row.floorSeconds}});
    json["prefill"] = Json::array();
    for (const PrefillRow& row : prefills)
        json["prefill"].push_back(
            {{"tokens", row.tokens},
             {"seconds", row.run.seconds},
             {"disturbed", row.run.isDisturbed()},
             {"tokens_per_second", static_cast<double>(row.tokens) / row.run.seconds}});
    json["peak_resident_bytes"] = readProcessMemory().peakResident;
    return json;
}

void printBench(std::ostream& out, const Decoder& decoder, const MeasuredBandwidth& bandwidth,
                const std::vector<DecodeStepRow>& decode, const std::vector<PrefillRow>& prefills)
{
    out << decoder.computeDescription() << " on " << decoder.device() << "\nmemory read bandwidth "
        << std::fixed << std::setprecision(1) << bandwidth.bytesPerSecond / 1e9
        << " GB/s (best of 5 reads of 1 GiB)"
        << (bandwidth.isDisturbed ? ", measured under other load" : "") << "\n\n"
        << "  cached   step median   best      tok/s    bytes       floor     median/floor\n";
    for (const DecodeStepRow& row : decode)
        out << std::setw(8) << formatCount(row.cachedTokens) << std::setw(11)
            << std::setprecision(2) << row.medianSeconds * 1e3 << " ms" << std::setw(8)
            << row.bestSeconds * 1e3 << " ms" << std::setw(8) << std::setprecision(1)
            << 1.0 / row.medianSeconds << std::setw(13)
            << formatBytes(row.weightBytes + row.cacheBytes) << std::setw(9) << std::setprecision(2)
            << row.floorSeconds * 1e3 << " ms" << std::setw(11)
            << row.medianSeconds / row.floorSeconds
            << (row.isDisturbed() ? "   under other load" : "") << '\n';
    out << '\n';
    for (const PrefillRow& row : prefills)
        out << "  prefill " << formatCount(row.tokens)
            << " tokens: " << formatSeconds(row.run.seconds) << ", " << std::setprecision(1)
            << static_cast<double>(row.tokens) / row.run.seconds << " tok/s"
            << (row.run.isDisturbed() ? ", under other load" : "") << '\n';
    out << "\npeak memory " << formatBytes(readProcessMemory().peakResident) << " resident\n"
        << std::flush;
}

void runBench(const BenchOptions& options, const CliContext& context)
{
    const auto decoder = buildDecoder(options.common, context, openFor(options.common));
    const MeasuredBandwidth bandwidth = measureBandwidthAlone(kBandwidthBytes);
    std::vector<DecodeStepRow> decode;
    for (const std::int64_t cached : parsedLengths(options.cached))
        decode.push_back(
            measureDecode(*decoder, options, cached, bandwidth.bytesPerSecond, context));
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
