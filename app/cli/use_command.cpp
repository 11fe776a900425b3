#include "app/cli/lab_options.h"
#include "engine/base/units.h"
#include "engine/lab/report_json.h"
#include "engine/lab/run_record_identity.h"
#include "engine/lab/use.h"

#include <iomanip>
#include <memory>

namespace kvscope {
namespace {

struct UseArguments
{
    CommonOptions common;
    LabTextOptions text;
    RecordOptions record;
    UseOptions options;
};

void printReport(std::ostream& out, const UseReport& report)
{
    out << formatCount(report.tokens) << " tokens in " << report.segments.size() << " segments of "
        << formatCount(report.segmentTokens)
        << "; nll of each segment's second half, nats per token\n\n"
        << " segment   targets from     whole     alone     alone - whole, 95 % interval\n";
    for (const UseSegment& segment : report.segments)
        out << std::setw(8) << segment.segment << std::setw(15) << formatCount(segment.firstTarget)
            << std::setw(10) << fixedText(segment.whole.mean, 3) << std::setw(10)
            << fixedText(segment.alone.mean, 3) << "     " << signedMeanText(segment.gain) << '\n';
    out << "\ncheck: segment 0 "
        << (report.firstSegmentAgrees()
                ? "differs by exactly 0, as one computation must"
                : "DIFFERS, though both are one computation: do not trust the rest")
        << "\nsegments 1 to " << report.segments.size() - 1
        << ": the whole text lowers the loss by " << signedMeanText(report.gain)
        << " nats (segments from " << fixedText(report.smallestSegmentGain, 3) << " to "
        << fixedText(report.largestSegmentGain, 3) << "), a perplexity "
        << fixedText(report.perplexityRatio(), 2) << " times lower\nthe interval is over "
        << report.gain.count << " segments, whose tokens are no independent draws\n";
}

Json settingsJson(const UseArguments& arguments, const std::vector<TokenId>& ids)
{
    return {{"length", ids.size()},
            {"ids_hash", idsHash(ids)},
            {"segments", arguments.options.numSegments},
            {"chunk", arguments.options.chunkTokens}};
}

void runUse(const UseArguments& arguments, const CliContext& context)
{
    const LabRun run = openLabRun(arguments.common, arguments.text, context);
    requireUseRunnable(*run.decoder, run.length(), arguments.options);
    if (const std::int64_t left = run.length() % arguments.options.numSegments; left > 0)
        context.err << "note: the last " << left << " of " << formatCount(run.length())
                    << " tokens do not fill a segment and are not used\n";
    auto record = openRecord(arguments.record, arguments.common, context, *run.decoder, "use",
                             settingsJson(arguments, run.ids));
    ProgressLines progress(context.err, "both passes");
    UseObserver observer;
    observer.progressed = [&](const PrefillProgress& done) { progress.tell(done); };
    observer.measured = [&](const UseSegment& segment) {
        if (record)
            record->append("segment", useSegmentJson(segment));
    };
    const UseReport report =
        measureUse(*run.decoder, run.ids, arguments.options, observer, context.stop);
    finishLabRun(arguments.common, context, *run.decoder, record, useJson(report),
                 [&report](std::ostream& out) { printReport(out, report); });
}

} // namespace

void addUseCommand(CLI::App& app, CliContext& context)
{
    auto arguments = std::make_shared<UseArguments>();
    CLI::App* command = app.add_subcommand(
        "use", "Whether distant text lowers the loss: the whole prefix against a segment alone");
    addCommonOptions(*command, arguments->common, ModelArgument::Required);
    addLabTextOptions(*command, arguments->text);
    command
        ->add_option("--segments", arguments->options.numSegments,
                     "equal parts of the text, two or more")
        ->check(CLI::Range(std::int64_t{2}, kMostTokens))
        ->capture_default_str();
    addChunkOption(*command, arguments->options.chunkTokens, "a segment in one");
    addRecordOptions(*command, arguments->record, Resuming::None);
    command->callback([arguments, &context] { runUse(*arguments, context); });
}

} // namespace kvscope
