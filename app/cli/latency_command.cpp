#include "app/cli/lab_options.h"
#include "engine/base/units.h"
#include "engine/lab/latency.h"
#include "engine/lab/report_json.h"

#include <ATen/Parallel.h>

#include <iomanip>
#include <memory>

namespace kvscope {
namespace {

struct LatencyArguments
{
    CommonOptions common;
    RecordOptions record;
    LatencyOptions options;
    std::string lengths = "256,512,1K,2K";
};

std::string wayText(std::int64_t chunkTokens)
{
    return chunkTokens == 0 ? "one shot" : "chunks of " + formatCount(chunkTokens);
}

void printFirstTokens(std::ostream& out, const LatencyReport& report)
{
    out << "time to first token, best of undisturbed runs\n"
        << "    tokens   way                    best    attention's FLOPs\n";
    for (const FirstTokenRow& row : report.firstToken) {
        out << std::setw(10) << formatCount(row.tokens) << "   " << std::left << std::setw(16)
            << wayText(row.chunkTokens) << std::right;
        if (row.isSkipped())
            out << "   skipped: " << row.skipReason << '\n';
        else
            out << std::setw(11) << formatSeconds(row.bestSeconds) << std::setw(18)
                << fixedText(100.0 * row.attentionShare, 0) << " %"
                << (row.isDisturbed ? "   disturbed by other load" : "")
                << (row.isBeyondTrained ? "   beyond the trained length" : "") << '\n';
    }
}

void printFits(std::ostream& out, const LatencyReport& report)
{
    for (const HeldOutFit& fit : report.fits) {
        out << "\n"
            << wayText(fit.chunkTokens) << ": fitted on " << fit.fittedTokens.size() << " lengths, "
            << fixedText(fit.throughputs.densePerSecond / 1e9, 1) << " GFLOP/s dense, "
            << fixedText(fit.throughputs.attentionPerSecond / 1e9, 1) << " GFLOP/s attention"
            << (fit.throughputs.separates ? "" : " (the lengths do not tell them apart)") << "\n  "
            << formatCount(fit.heldOutTokens) << " tokens: predicted "
            << formatSeconds(fit.predictedSeconds) << ", measured "
            << formatSeconds(fit.measuredSeconds) << ", error " << fixedText(100.0 * fit.error(), 1)
            << " % (one throughput: " << fixedText(100.0 * fit.singleError(), 1) << " %)"
            << (fit.isDisturbed ? "; disturbed by other load" : "") << '\n';
    }
}

void printDecode(std::ostream& out, const LatencyReport& report)
{
    out << "\ndecode step, median of undisturbed steps";
    if (report.bandwidthBytesPerSecond > 0.0)
        out << "; memory reads " << fixedText(report.bandwidthBytesPerSecond / 1e9, 1) << " GB/s"
            << (report.isBandwidthDisturbed ? " (measured under other load)" : "");
    out << "\n    cached         step   bytes alone   times   disturbed steps\n";
    for (const DecodeStepRow& row : report.decode)
        out << std::setw(10) << formatCount(row.cachedTokens) << std::setw(10)
            << fixedText(row.medianSeconds * 1e3, 2) << " ms" << std::setw(11)
            << (row.floorSeconds > 0.0 ? fixedText(row.floorSeconds * 1e3, 2) + " ms" : "-")
            << std::setw(8)
            << (row.floorSeconds > 0.0 ? fixedText(row.medianSeconds / row.floorSeconds, 1) : "-")
            << std::setw(12) << row.numDisturbed << " of " << row.numSteps
            << (row.isDisturbed() ? "   none was left undisturbed" : "") << '\n';
    if (!report.stepSecondsPer1000) {
        out << "what it grows by per 1,000 cached tokens takes two undisturbed lengths\n";
        return;
    }
    out << "grows by " << fixedText(*report.stepSecondsPer1000 * 1e3, 3)
        << " ms per 1,000 cached tokens";
    if (report.floorSecondsPer1000)
        out << ", the bytes alone by " << fixedText(*report.floorSecondsPer1000 * 1e3, 3) << " ms";
    out << '\n';
}

LatencyObserver observerFor(const CliContext& context, RunRecord* record)
{
    LatencyObserver observer;
    observer.rowDone = [&context, record](const FirstTokenRow& row) {
        context.err << formatCount(row.tokens) << " tokens, " << wayText(row.chunkTokens) << ": "
                    << (row.isSkipped() ? "skipped, " + row.skipReason
                                        : formatSeconds(row.bestSeconds))
                    << '\n';
    };
    observer.estimated = [&context](double secondsLeft) {
        if (secondsLeft > 0.0)
            context.err << "about " << formatSeconds(secondsLeft) << " left\n";
    };
    if (record == nullptr)
        return observer;
    observer.prefilled = [record](std::int64_t tokens, std::int64_t chunk, const TimedRun& run) {
        Json json = {{"tokens", tokens}, {"chunk", chunk}};
        json.update(timedRunJson(run));
        record->append("prefill", json);
    };
    observer.decodeDone = [record](const DecodeStepRow& row) {
        record->append("decode", decodeStepJson(row));
    };
    return observer;
}

Json settingsJson(const LatencyArguments& arguments)
{
    const LatencyOptions& options = arguments.options;
    return {{"lengths", options.lengths},          {"chunk", options.chunkTokens},
            {"repeats", options.repeats},          {"decode_steps", options.decodeSteps},
            {"max_context", options.contextLimit}, {"threads", at::get_num_threads()}};
}

void runLatency(LatencyArguments arguments, const CliContext& context)
{
    arguments.options.lengths = parsedLengths(arguments.lengths);
    arguments.options.seed = arguments.common.seed;
    arguments.options.contextLimit = arguments.common.maxContext;
    const auto decoder = buildDecoder(arguments.common, context, openFor(arguments.common));
    for (const std::int64_t length : arguments.options.lengths)
        warnBeyondPositions(context, *decoder, length);
    auto record = openRecord(arguments.record, arguments.common, context, *decoder, "latency",
                             settingsJson(arguments));
    const LatencyObserver observer = observerFor(context, record ? &*record : nullptr);
    const LatencyReport report =
        measureLatency(*decoder, arguments.options, observer, context.stop);
    Json result = settingsJson(arguments);
    result.update(latencyJson(report));
    finishLabRun(arguments.common, context, *decoder, record, result, [&](std::ostream& out) {
        printFirstTokens(out, report);
        printFits(out, report);
        printDecode(out, report);
    });
}

} // namespace

void addLatencyCommand(CLI::App& app, CliContext& context)
{
    auto arguments = std::make_shared<LatencyArguments>();
    CLI::App* command = app.add_subcommand(
        "latency", "Time to first token and decode step by length, beside what the bytes need");
    addCommonOptions(*command, arguments->common, ModelArgument::Required);
    command
        ->add_option("--lengths", arguments->lengths,
                     "prompt lengths; of three or more the longest is predicted from the others")
        ->capture_default_str();
    command
        ->add_option("--chunk", arguments->options.chunkTokens,
                     "of the chunked runs; 0: one shot alone")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command
        ->add_option("--repeats", arguments->options.repeats, "prefills a length; the best counts")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->add_option("--steps", arguments->options.decodeSteps, "decode steps a length")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    addRecordOptions(*command, arguments->record, Resuming::None);
    command->callback([arguments, &context] { runLatency(*arguments, context); });
}

} // namespace kvscope
