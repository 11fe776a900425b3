#include "app/cli/lab_options.h"
#include "app/cli/text_table.h"
#include "engine/base/units.h"
#include "engine/lab/decode_kernel.h"

#include <memory>
#include <optional>

namespace kvscope {
namespace {

struct KernelArguments
{
    CommonOptions common;
    RecordOptions record;
    DecodeKernelOptions options;
    std::string cached = "1024,4096";
    std::string batches = "1,4,16";
};

Json orNull(double value)
{
    return value > 0.0 ? Json(value) : Json();
}

Json orNull(const std::optional<double>& value)
{
    return value ? Json(*value) : Json();
}

Json rowJson(const DecodeKernelRow& row)
{
    const bool isRun = row.skipReason.empty();
    return {{"layer", row.window > 0 ? "windowed" : "global"},
            {"window", row.window > 0 ? Json(row.window) : Json()},
            {"cached", row.cachedTokens},
            {"batch", row.batch},
            {"parts", row.parts},
            {"decoders_way", row.isDecodersWay},
            {"median_seconds", isRun ? Json(row.medianSeconds) : Json()},
            {"best_seconds", isRun ? Json(row.bestSeconds) : Json()},
            {"runs", row.numRuns},
            {"disturbed_runs", row.numDisturbed},
            {"bytes", row.bytes},
            {"floor_seconds", orNull(row.floorSeconds)},
            {"skipped", isRun ? Json() : Json(row.skipReason)}};
}

Json stepJson(const DecodeStepRow& row)
{
    return {{"cached", row.cachedTokens},
            {"median_seconds", row.medianSeconds},
            {"best_seconds", row.bestSeconds},
            {"steps", row.numSteps},
            {"disturbed_steps", row.numDisturbed},
            {"bytes", row.weightBytes + row.cacheBytes},
            {"floor_seconds", orNull(row.floorSeconds)}};
}

Json reportJson(const DecodeKernelReport& report)
{
    Json json = {{"read_bandwidth_bytes_per_second", orNull(report.bandwidthBytesPerSecond)},
                 {"read_bandwidth_disturbed", report.isBandwidthDisturbed},
                 {"disturbed_above_wait_share", kDisturbedShare},
                 {"query_heads", report.numHeads},
                 {"kv_heads", report.numKvHeads},
                 {"head_dim", report.headDim},
                 {"cache_dtype", report.cacheDtype},
                 {"global_layers", report.numGlobalLayers},
                 {"rows", Json::array()},
                 {"steps", Json::array()},
                 {"step_seconds_per_1000_cached", orNull(report.stepSecondsPer1000)},
                 {"kernel_seconds_per_1000_cached", orNull(report.kernelSecondsPer1000)},
                 {"floor_seconds_per_1000_cached", orNull(report.floorSecondsPer1000)},
                 {"kernel_share_of_growth", orNull(report.kernelShareOfGrowth())}};
    for (const DecodeKernelRow& row : report.rows)
        json["rows"].push_back(rowJson(row));
    for (const DecodeStepRow& row : report.steps)
        json["steps"].push_back(stepJson(row));
    return json;
}

std::string partsText(const DecodeKernelRow& row)
{
    const std::string way = row.parts == 1 ? "plain" : std::to_string(row.parts) + " parts";
    return way + (row.isDecodersWay ? " *" : "  ");
}

std::string milliseconds(double seconds)
{
    return fixedText(seconds * 1e3, 3);
}

std::string overFloor(double seconds, double floor)
{
    return floor > 0.0 ? fixedText(seconds / floor, 2) : "-";
}

void printRows(std::ostream& out, const DecodeKernelReport& report)
{
    out << "one layer's attention of one new token, " << report.numHeads << " query heads on "
        << report.numKvHeads << " key/value heads of " << report.headDim << ", cache "
        << report.cacheDtype;
    if (report.bandwidthBytesPerSecond > 0.0)
        out << "; memory reads " << fixedText(report.bandwidthBytesPerSecond / 1e9, 1) << " GB/s"
            << (report.isBandwidthDisturbed ? " (measured under other load)" : "");
    out << "\nmedian of undisturbed runs; * is what the decoder does\n";
    TextTable table({"layer", "cached", "batch", "cache in", "call, ms", "bytes alone, ms", "times",
                     "disturbed"});
    for (const DecodeKernelRow& row : report.rows) {
        const bool isRun = row.skipReason.empty();
        table.addRow({row.window > 0 ? "window " + formatCount(row.window) : "global",
                      formatCount(row.cachedTokens), formatCount(row.batch),
                      isRun ? partsText(row) : "skipped",
                      isRun ? milliseconds(row.medianSeconds) : "-",
                      row.floorSeconds > 0.0 ? milliseconds(row.floorSeconds) : "-",
                      isRun ? overFloor(row.medianSeconds, row.floorSeconds) : row.skipReason,
                      std::to_string(row.numDisturbed) + " of " + std::to_string(row.numRuns)});
    }
    table.print(out);
}

void printSteps(std::ostream& out, const DecodeKernelReport& report)
{
    out << "\nwhole decode steps, batch 1\n";
    TextTable table({"cached", "step, ms", "bytes alone, ms", "times", "disturbed"});
    for (const DecodeStepRow& row : report.steps)
        table.addRow({formatCount(row.cachedTokens), milliseconds(row.medianSeconds),
                      row.floorSeconds > 0.0 ? milliseconds(row.floorSeconds) : "-",
                      overFloor(row.medianSeconds, row.floorSeconds),
                      std::to_string(row.numDisturbed) + " of " + std::to_string(row.numSteps)});
    table.print(out);
}

void printGrowth(std::ostream& out, const DecodeKernelReport& report)
{
    if (!report.stepSecondsPer1000 || !report.kernelSecondsPer1000) {
        out << "\nno growth per 1,000 cached tokens: that takes global layers and two lengths that "
               "were not disturbed\n";
        return;
    }
    out << "\nper 1,000 cached tokens a step grows by " << milliseconds(*report.stepSecondsPer1000)
        << " ms, the kernels of its " << report.numGlobalLayers << " global layers by "
        << milliseconds(*report.kernelSecondsPer1000) << " ms";
    if (report.floorSecondsPer1000)
        out << ", the cache's bytes alone by " << milliseconds(*report.floorSecondsPer1000)
            << " ms";
    if (const auto share = report.kernelShareOfGrowth())
        out << "\nthe kernel's share of the growth: " << fixedText(100.0 * *share, 0) << " %";
    out << '\n';
}

DecodeKernelObserver observerFor(const CliContext& context, RunRecord* record)
{
    DecodeKernelObserver observer;
    observer.rowDone = [&context, record](const DecodeKernelRow& row) {
        context.err << formatCount(row.cachedTokens) << " cached, batch " << row.batch << ": "
                    << (row.skipReason.empty() ? milliseconds(row.medianSeconds) + " ms"
                                               : "skipped, " + row.skipReason)
                    << '\n';
        if (record != nullptr)
            record->append("kernel", rowJson(row));
    };
    if (record != nullptr)
        observer.stepDone = [record](const DecodeStepRow& row) {
            record->append("step", stepJson(row));
        };
    return observer;
}

void runKernel(KernelArguments arguments, const CliContext& context)
{
    DecodeKernelOptions& options = arguments.options;
    options.cachedLengths = parsedLengths(arguments.cached);
    options.batches = parsedLengths(arguments.batches);
    options.seed = arguments.common.seed;
    const auto decoder = buildDecoder(arguments.common, context, openFor(arguments.common));
    auto record = openRecord(arguments.record, arguments.common, context, *decoder, "decode-kernel",
                             {{"cached", options.cachedLengths},
                              {"batches", options.batches},
                              {"split", options.parts},
                              {"repeats", options.repeats}});
    const auto observer = observerFor(context, record ? &*record : nullptr);
    const DecodeKernelReport report =
        measureDecodeKernel(*decoder, options, observer, context.stop);
    finishLabRun(arguments.common, context, *decoder, record, reportJson(report),
                 [&report](std::ostream& out) {
                     printRows(out, report);
                     printSteps(out, report);
                     printGrowth(out, report);
                 });
}

} // namespace

void addDecodeKernelCommand(CLI::App& app, CliContext& context)
{
    auto arguments = std::make_shared<KernelArguments>();
    CLI::App* command = app.add_subcommand(
        "decode-kernel", "One layer's attention over the cache, plain and split, beside its bytes");
    addCommonOptions(*command, arguments->common, ModelArgument::Required);
    command->add_option("--cached", arguments->cached, "cached lengths: 1024,4096 or 1K,4K")
        ->capture_default_str();
    command->add_option("--batch", arguments->batches, "sequences at once")->capture_default_str();
    command
        ->add_option("--split", arguments->options.parts,
                     "parts of the cache in the split rows (default: as many as threads)")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}));
    command->add_option("--repeats", arguments->options.repeats, "timed runs a row")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->add_option("--steps", arguments->options.steps, "whole decode steps a length")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    addRecordOptions(*command, arguments->record, Resuming::None);
    command->callback([arguments, &context] { runKernel(*arguments, context); });
}

} // namespace kvscope
