#include "app/cli/lab_options.h"
#include "engine/base/units.h"
#include "engine/lab/report_json.h"
#include "engine/lab/run_record_identity.h"
#include "engine/lab/truncation.h"

#include <memory>

namespace kvscope {
namespace {

struct TruncateArguments
{
    CommonOptions common;
    LabTextOptions text;
    RecordOptions record;
    TruncationOptions options;
};

Json reportJson(const TruncationReport& report)
{
    const bool hasStale = report.staleReason.empty();
    return {{"prompt_tokens", report.promptTokens},
            {"keep", report.keepTokens},
            {"drop", report.dropTokens},
            {"kept_tokens", report.keptTokens},
            {"reusable_prefix", report.reusablePrefix},
            {"cache_reusable", report.cacheReusable},
            {"next_tokens", report.nextTokens},
            {"uncut", meanJson(report.uncut)},
            {"recomputed", meanJson(report.recomputed)},
            {"cut_cost", meanJson(report.cutCost)},
            {"stale", hasStale ? meanJson(report.stale) : Json()},
            {"stale_cost", hasStale ? meanJson(report.staleCost) : Json()},
            {"stale_skipped", hasStale ? Json() : Json(report.staleReason)},
            {"recomputed_tokens", report.recomputedTokens},
            {"recompute_seconds", report.recomputeSeconds}};
}

void printReport(std::ostream& out, const TruncationReport& report)
{
    out << "a prompt of " << formatCount(report.promptTokens) << " tokens, cut to "
        << formatCount(report.keptTokens) << ": the first " << formatCount(report.keepTokens)
        << " kept, " << formatCount(report.dropTokens) << " behind them dropped\n"
        << "exactly reusable: the first " << formatCount(report.reusablePrefix)
        << " tokens; this model's cache gives " << formatCount(report.cacheReusable)
        << "\n\nnll of the next " << formatCount(report.nextTokens) << " tokens, nats\n"
        << "  whole prompt        " << fixedText(report.uncut.mean, 4) << "\n  cut, run anew       "
        << fixedText(report.recomputed.mean, 4) << "   costs " << signedMeanText(report.cutCost)
        << ", " << formatSeconds(report.recomputeSeconds) << " to run the "
        << formatCount(report.recomputedTokens) << " tokens that were not valid any more\n";
    if (report.staleReason.empty())
        out << "  cut, stale keys     " << fixedText(report.stale.mean, 4) << "   costs "
            << signedMeanText(report.staleCost) << " more than running anew\n";
    else
        out << "  cut, stale keys     not possible: " << report.staleReason << '\n';
}

void runTruncate(const TruncateArguments& arguments, const CliContext& context)
{
    const LabRun run = openLabRun(arguments.common, arguments.text, context);
    const TruncationOptions& options = arguments.options;
    ProgressLines progress(context.err, "prompt");
    PositionsObserver observer;
    observer.progressed = [&](const PrefillProgress& done) { progress.tell(done); };
    auto record = openRecord(arguments.record, arguments.common, context, *run.decoder, "truncate",
                             {{"length", run.length()},
                              {"ids_hash", idsHash(run.ids)},
                              {"keep", options.keepTokens},
                              {"drop", options.dropTokens},
                              {"next", options.nextTokens},
                              {"chunk", options.chunkTokens}});
    const TruncationReport report =
        measureTruncation(*run.decoder, run.ids, options, observer, context.stop);
    finishLabRun(arguments.common, context, *run.decoder, record, reportJson(report),
                 [&report](std::ostream& out) { printReport(out, report); });
}

} // namespace

void addTruncateCommand(CLI::App& app, CliContext& context)
{
    auto arguments = std::make_shared<TruncateArguments>();
    CLI::App* command = app.add_subcommand(
        "truncate", "What survives a cut in a prompt's middle, and what stale keys cost");
    addCommonOptions(*command, arguments->common, ModelArgument::Required);
    addLabTextOptions(*command, arguments->text);
    command
        ->add_option("--keep", arguments->options.keepTokens, "tokens of the preserved beginning")
        ->required()
        ->check(CLI::Range(std::int64_t{0}, kMostTokens));
    command->add_option("--drop", arguments->options.dropTokens, "tokens dropped behind it")
        ->required()
        ->check(CLI::Range(std::int64_t{1}, kMostTokens));
    command
        ->add_option("--next", arguments->options.nextTokens,
                     "of the text's last tokens, scored behind the prompt")
        ->check(CLI::Range(std::int64_t{1}, kMostTokens))
        ->capture_default_str();
    addChunkOption(*command, arguments->options.chunkTokens, "one shot");
    addRecordOptions(*command, arguments->record, Resuming::None);
    command->callback([arguments, &context] { runTruncate(*arguments, context); });
}

} // namespace kvscope
