#include "app/cli/cli_context.h"
#include "engine/base/errors.h"
#include "engine/base/memory_reading.h"
#include "engine/base/units.h"
#include "engine/generate/prefill.h"
#include "engine/kernels/cpu_features.h"
#include "engine/kernels/device_memory.h"
#include "engine/lab/decode_steps.h"
#include "engine/lab/latency_load.h"
#include "engine/lab/latency_report.h"
#include "engine/lab/memory_costs.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <iomanip>
#include <memory>
#include <optional>

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
    bool hasReference = false;
};

struct PrefillRow
{
    std::int64_t tokens = 0;
    TimedRun run;
    std::optional<TimedRun> reference; ///< the whole prompt at once by plain operators
};

struct DecodeRow
{
    DecodeStepRow fast;
    std::optional<DecodeStepRow> reference; ///< by plain operators
};

/// The ids are the same for every engine that is compared (tests/benchmarks/compare).
/// Multiplicative hashing, Knuth 1973.
TokenId tokenAt(std::int64_t i, std::int64_t vocabularySize)
{
    return i * 2654435761 % vocabularySize;
}

/// \param text  empty: none
std::vector<std::int64_t> lengthsOf(const std::string& text)
{
    return text.empty() ? std::vector<std::int64_t>() : parsedLengths(text);
}

/// Dense scores are held about four times over: raw, scaled, masked, as probabilities.
void requireScoresFit(const Decoder& decoder, std::int64_t tokens)
{
    const double needed = 4.0 * scoresBytes(decoder.config(), tokens, sizeof(float));
    const auto freeNow = readFreeMemory(decoder.device());
    if (freeNow && needed > static_cast<double>(*freeNow))
        throw MemoryError("plain operators take " +
                          formatBytes(static_cast<std::uint64_t>(needed)) + " for the scores of " +
                          formatCount(tokens) + " tokens, " + formatBytes(*freeNow) + " are free");
}

template <typename Work>
TimedRun timed(const Work& work)
{
    const LoadWatch watch;
    work();
    const double seconds = watch.seconds();
    return {seconds, watch.waitShare(at::get_num_threads())};
}

DecodeStepRow timeDecode(Decoder& decoder, const BenchOptions& options, std::int64_t cached,
                         double bandwidth, KernelPath path, const CliContext& context)
{
    MixedKVCache cache = decoder.makeCache();
    requireCacheFits(decoder, cache, cached + options.steps + 4);
    fillWithRandom(cache, cached, context.stop);
    const std::int64_t vocabulary = decoder.config().vocabularySize;
    std::int64_t step = 0;
    const auto row = timeDecodeSteps(
        decoder, cache,
        {options.steps, 0, bandwidth, [&] { return tokenAt(step++, vocabulary); }, path},
        context.stop);
    if (!row)
        throw ArgumentError(formatCount(cached) +
                            " cached tokens and the steps are more than the " +
                            formatCount(decoder.config().trainedPositions) + " learned positions");
    return *row;
}

DecodeRow measureDecode(Decoder& decoder, const BenchOptions& options, std::int64_t cached,
                        double bandwidth, const CliContext& context)
{
    DecodeRow row;
    row.fast = timeDecode(decoder, options, cached, bandwidth, KernelPath::Fast, context);
    if (options.hasReference)
        row.reference =
            timeDecode(decoder, options, cached, bandwidth, KernelPath::Reference, context);
    return row;
}

std::int64_t firstChunk(std::int64_t tokens, std::int64_t chunk)
{
    return chunk > 0 ? std::min(tokens, chunk) : tokens;
}

/// The largest chunk of a process so far meets pages that were never touched, and on a GPU kernels
/// that are not loaded yet.
void warmUp(Decoder& decoder, GenerationRequest request, const CliContext& context)
{
    request.prompt.resize(static_cast<std::size_t>(
        firstChunk(static_cast<std::int64_t>(request.prompt.size()), request.chunkTokens)));
    Context thrownAway(decoder.makeCache());
    prefill(decoder, thrownAway, request, {}, context.stop);
}

PrefillRow measurePrefill(Decoder& decoder, const BenchOptions& options, std::int64_t tokens,
                          bool isLargest, const CliContext& context)
{
    Context cached(decoder.makeCache());
    requireCacheFits(decoder, cached.cache(), tokens);
    if (options.hasReference)
        requireScoresFit(decoder, tokens);
    GenerationRequest request;
    request.chunkTokens = options.chunk;
    for (std::int64_t i = 0; i < tokens; ++i)
        request.prompt.push_back(tokenAt(i, decoder.config().vocabularySize));
    if (isLargest)
        warmUp(decoder, request, context);
    PrefillRow row;
    row.tokens = tokens;
    row.run = timed([&] { prefill(decoder, cached, request, {}, context.stop); });
    if (options.hasReference)
        row.reference = timed([&] {
            const at::Tensor ids = idsTensor(request.prompt.data(), tokens);
            ForwardOptions forward;
            forward.path = KernelPath::Reference;
            forward.logits = LogitPositions::Last;
            forward.stop = context.stop;
            decoder.forward(ids, nullptr, forward).cpu(); // a GPU has only begun
        });
    return row;
}

/// On a GPU no bandwidth was measured, so there is no floor.
bool hasFloor(const DecodeStepRow& row)
{
    return row.floorSeconds > 0.0;
}

Json decodeJson(const DecodeStepRow& row)
{
    return {{"cached", row.cachedTokens},
            {"median_seconds", row.medianSeconds},
            {"best_seconds", row.bestSeconds},
            {"tokens_per_second", 1.0 / row.medianSeconds},
            {"bytes", row.weightBytes + row.cacheBytes},
            {"floor_seconds", hasFloor(row) ? Json(row.floorSeconds) : Json()},
            {"disturbed_steps", row.numDisturbed},
            {"times_floor", hasFloor(row) ? Json(row.medianSeconds / row.floorSeconds) : Json()}};
}

Json prefillJson(std::int64_t tokens, const TimedRun& run)
{
    return {{"tokens", tokens},
            {"seconds", run.seconds},
            {"disturbed", run.isDisturbed()},
            {"tokens_per_second", static_cast<double>(tokens) / run.seconds}};
}

Json benchJson(const BenchOptions& options, const Decoder& decoder,
               const MeasuredBandwidth& bandwidth, const std::vector<DecodeRow>& decode,
               const std::vector<PrefillRow>& prefills)
{
    Json json = recipe(options.common, decoder);
    if (decoder.device().is_cpu())
        json["instructions"] = instructionSetNames();
    json["read_bandwidth_bytes_per_second"] =
        decoder.device().is_cpu() ? Json(bandwidth.bytesPerSecond) : Json();
    json["read_bandwidth_disturbed"] = bandwidth.isDisturbed;
    json["active_weight_bytes"] = decoder.activeWeightBytes();
    json["decode"] = json["prefill"] = Json::array();
    for (const DecodeRow& row : decode) {
        json["decode"].push_back(decodeJson(row.fast));
        if (row.reference)
            json["decode"].back()["reference"] = decodeJson(*row.reference);
    }
    for (const PrefillRow& row : prefills) {
        json["prefill"].push_back(prefillJson(row.tokens, row.run));
        if (row.reference)
            json["prefill"].back()["reference"] = prefillJson(row.tokens, *row.reference);
    }
    json["peak_resident_bytes"] = readProcessMemory().peakResident;
    return json;
}

void printDecode(std::ostream& out, const DecodeStepRow& row)
{
    out << std::setw(8) << formatCount(row.cachedTokens) << std::setw(11) << std::setprecision(2)
        << row.medianSeconds * 1e3 << " ms" << std::setw(8) << row.bestSeconds * 1e3 << " ms"
        << std::setw(8) << std::setprecision(1) << 1.0 / row.medianSeconds << std::setw(13)
        << formatBytes(row.weightBytes + row.cacheBytes);
    if (hasFloor(row))
        out << std::setw(9) << std::setprecision(2) << row.floorSeconds * 1e3 << " ms"
            << std::setw(11) << row.medianSeconds / row.floorSeconds;
    else
        out << std::setw(12) << "-" << std::setw(11) << "-";
}

void printPrefill(std::ostream& out, std::int64_t tokens, const TimedRun& run)
{
    out << formatSeconds(run.seconds) << ", " << std::setprecision(1)
        << static_cast<double>(tokens) / run.seconds << " tok/s"
        << (run.isDisturbed() ? ", under other load" : "");
}

void printBench(std::ostream& out, const Decoder& decoder, const MeasuredBandwidth& bandwidth,
                const std::vector<DecodeRow>& decode, const std::vector<PrefillRow>& prefills)
{
    out << decoder.computeDescription() << " on " << decoder.device();
    if (decoder.device().is_cpu())
        out << " (" << instructionSetNames() << ')';
    out << std::fixed << std::setprecision(1);
    if (decoder.device().is_cpu())
        out << "\nmemory read bandwidth " << bandwidth.bytesPerSecond / 1e9
            << " GB/s (best of 5 reads of 1 GiB)"
            << (bandwidth.isDisturbed ? ", measured under other load" : "");
    out << "\n\n"
        << "  cached   step median   best      tok/s    bytes       floor     median/floor\n";
    for (const DecodeRow& row : decode) {
        printDecode(out, row.fast);
        out << (row.fast.isDisturbed() ? "   under other load" : "") << '\n';
        if (!row.reference)
            continue;
        printDecode(out, *row.reference);
        out << "   plain operators, " << row.reference->medianSeconds / row.fast.medianSeconds
            << " times as long" << (row.reference->isDisturbed() ? ", under other load" : "")
            << '\n';
    }
    out << '\n';
    for (const PrefillRow& row : prefills) {
        out << "  prefill " << formatCount(row.tokens) << " tokens: ";
        printPrefill(out, row.tokens, row.run);
        if (row.reference) {
            out << "\n    by plain operators, in one: ";
            printPrefill(out, row.tokens, *row.reference);
            out << "; " << row.reference->seconds / row.run.seconds << " times as long";
        }
        out << '\n';
    }
    out << "\npeak memory " << formatBytes(readProcessMemory().peakResident) << " resident\n"
        << std::flush;
}

void runBench(const BenchOptions& options, const CliContext& context)
{
    const auto decoder = buildDecoder(options.common, context, openFor(options.common));
    MeasuredBandwidth bandwidth; // the processor's, which says nothing of a GPU
    if (decoder->device().is_cpu())
        bandwidth = measureBandwidthAlone(kBandwidthBytes);
    std::vector<DecodeRow> decode;
    for (const std::int64_t cached : lengthsOf(options.cached))
        decode.push_back(
            measureDecode(*decoder, options, cached, bandwidth.bytesPerSecond, context));
    std::vector<PrefillRow> prefills;
    std::int64_t largest = 0;
    for (const std::int64_t tokens : lengthsOf(options.prefill)) {
        const std::int64_t chunk = firstChunk(tokens, options.chunk);
        prefills.push_back(measurePrefill(*decoder, options, tokens, chunk > largest, context));
        largest = std::max(largest, chunk);
    }
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
    command->add_option("--cached", options->cached, "cached lengths to decode at; empty: none")
        ->capture_default_str();
    command->add_option("--prefill", options->prefill, "prompt lengths to prefill; empty: none")
        ->capture_default_str();
    command->add_option("--chunk", options->chunk, "prefill chunk; 0: one shot")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command->add_flag("--reference", options->hasReference,
                      "the same by the plain path: operators, dense scores, repeated heads");
    command->add_option("--steps", options->steps, "decode steps a length")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    command->callback([options, &context] { runBench(*options, context); });
}

} // namespace kvscope
