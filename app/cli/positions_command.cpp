#include "app/cli/lab_options.h"
#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/lab/positions.h"
#include "engine/lab/positions_record.h"
#include "engine/lab/positions_scheme.h"
#include "engine/lab/report_json.h"
#include "engine/lab/run_record_identity.h"
#include "engine/model/rotary_override.h"

#include <iomanip>
#include <memory>
#include <sstream>

namespace kvscope {
namespace {

struct PositionsArguments
{
    CommonOptions common;
    LabTextOptions text;
    RecordOptions record;
    PositionsOptions options;
    std::vector<std::string> rotaries;    ///< --rope, once or twice; none: the file's own
    std::vector<std::string> cacheDtypes; ///< --cache-dtype, once or twice
};

/// \throws CLI::ValidationError for more than can be compared
std::vector<PositionsScheme> schemesFor(const PositionsArguments& arguments)
{
    try {
        return positionsSchemes(arguments.rotaries, arguments.cacheDtypes);
    } catch (const ArgumentError& error) {
        throw CLI::ValidationError("--rope and --cache-dtype", error.what());
    }
}

/// \throws CLI::ValidationError for two that come to the same
void requireDifferent(const std::vector<PositionsScheme>& schemes,
                      const PositionsArguments& arguments,
                      const std::shared_ptr<const Checkpoint>& checkpoint)
{
    for (const PositionsScheme& scheme : schemes)
        withRotary(checkpoint, scheme.rotary); // a wrong one is told as what it is
    try {
        requireDifferentSchemes(checkpoint, arguments.common.dtype, arguments.common.cacheDtype,
                                schemes);
    } catch (const ArgumentError& error) {
        throw CLI::ValidationError("--rope and --cache-dtype", error.what());
    }
}

std::shared_ptr<const Checkpoint> withScheme(const std::shared_ptr<const Checkpoint>& checkpoint,
                                             const std::string& rotary, std::size_t index)
{
    auto chosen = withRotary(checkpoint, rotary);
    if (index == 0)
        return chosen;
    auto quiet = std::make_shared<Checkpoint>(*chosen); // its warnings were told with the first
    quiet->warnings.clear();
    return quiet;
}

PositionsSeries measureScheme(Decoder& decoder, const PositionsArguments& arguments,
                              const std::vector<TokenId>& ids, std::size_t index, RunRecord* record,
                              const CliContext& context)
{
    PositionsSeries frame = positionsSeries(decoder.config(), {}, arguments.options);
    if (arguments.cacheDtypes.size() == 2)
        frame.cacheDtype = decoder.cacheTypeName();
    if (record != nullptr)
        if (auto nll = recordedLosses(*record, index, ids.size() - 1)) {
            auto series = positionsSeries(decoder.config(), std::move(*nll), arguments.options);
            series.seconds = recordedSeconds(*record, index);
            series.cacheDtype = frame.cacheDtype;
            return series;
        }
    ProgressLines progress(context.err, frame.name());
    PositionsObserver observer;
    observer.progressed = [&](const PrefillProgress& done) { progress.tell(done); };
    if (record != nullptr)
        observer.scored = [&](const ScoredPositions& part) {
            record->append(kPositionsKind, scoredJson(index, frame, part));
        };
    auto series = measurePositions(decoder, ids, arguments.options, observer, context.stop);
    series.cacheDtype = frame.cacheDtype;
    return series;
}

std::string rangeText(std::int64_t first, std::int64_t end)
{
    return formatCount(first) + " - " + formatCount(end);
}

/// Standard error and interval, as wide for one position, which has neither.
std::string errorText(const SampleMean& mean)
{
    std::ostringstream text;
    if (mean.hasInterval())
        text << std::setw(12) << fixedText(mean.standardError, 4) << "     ["
             << fixedText(mean.low, 3) << ", " << fixedText(mean.high, 3) << ']';
    else
        text << std::setw(12) << "-"
             << "         no interval";
    return text.str();
}

const char* verdictText(const PositionsSeries& series)
{
    if (!series.isDecided())
        return "undecided: too few positions, or an interval across the line";
    return series.behaves() ? "behaves" : "does not behave";
}

void printSeries(std::ostream& out, const PositionsSeries& series)
{
    out << '\n' << series.name() << (series.isWhole ? ", rotated for the whole length" : "");
    if (series.trainedPositions > 0)
        out << "; trained on " << formatCount(series.trainedPositions) << " positions";
    if (series.window > 0)
        out << "; windows of " << formatCount(series.window);
    out << "\n          positions       nll        s.e.     95 % interval      perplexity\n";
    for (const PositionBin& bin : series.bins)
        out << std::setw(19) << rangeText(bin.first, bin.end) << std::setw(10)
            << fixedText(bin.nll.mean, 3) << errorText(bin.nll) << std::setw(14)
            << fixedText(bin.perplexity(), 2)
            << (bin.isBeyondTrained ? "   beyond the trained length" : "") << '\n';
    out << "last bin less first half: " << fixedText(series.rise(), 3)
        << " nats: " << verdictText(series) << " (the line is " << fixedText(kBehavesNats, 1)
        << ")\n";
}

void printReport(std::ostream& out, const PositionsReport& report)
{
    out << formatCount(report.tokens) << " tokens, nll in nats per token\n";
    for (const PositionsSeries& series : report.series)
        printSeries(out, series);
    if (report.differences.empty())
        return;
    out << "\nsecond less first, with its 95 % interval\n";
    for (const PositionsDifference& bin : report.differences)
        out << std::setw(19) << rangeText(bin.first, bin.end) << "   " << signedMeanText(bin.nll)
            << '\n';
}

Json settingsJson(const PositionsArguments& arguments, const std::vector<TokenId>& ids)
{
    Json rotaries = Json::array();
    for (const PositionsScheme& scheme : schemesFor(arguments))
        rotaries.push_back(scheme.rotary);
    Json json = {{"length", ids.size()},
                 {"ids_hash", idsHash(ids)},
                 {"chunk", arguments.options.chunkTokens},
                 {"whole", arguments.options.isWhole},
                 {"ropes", rotaries}};
    if (arguments.cacheDtypes.size() == 2)
        json["cache_dtypes"] = arguments.cacheDtypes;
    return json;
}

void runPositions(PositionsArguments arguments, const CliContext& context)
{
    const auto schemes = schemesFor(arguments);
    const auto checkpoint =
        withAblations(openCheckpoint(arguments.common.model), arguments.common.ablations);
    requireDifferent(schemes, arguments, checkpoint);
    const std::vector<TokenId> ids = labIds(arguments.common, arguments.text, *checkpoint);
    std::optional<RunRecord> record;
    Json json;
    std::vector<PositionsSeries> series;
    for (std::size_t i = 0; i < schemes.size(); ++i) {
        if (!schemes[i].cacheDtype.empty())
            arguments.common.cacheDtype = schemes[i].cacheDtype;
        const auto decoder =
            buildDecoder(arguments.common, context, withScheme(checkpoint, schemes[i].rotary, i));
        if (i == 0) {
            requirePositionsRunnable(*decoder, static_cast<std::int64_t>(ids.size()));
            record = openRecord(arguments.record, arguments.common, context, *decoder, "positions",
                                settingsJson(arguments, ids));
            json = recipe(arguments.common, *decoder);
        }
        warnBeyondPositions(context, *decoder, static_cast<std::int64_t>(ids.size()));
        series.push_back(
            measureScheme(*decoder, arguments, ids, i, record ? &*record : nullptr, context));
    }
    const PositionsReport report = positionsReport(std::move(series));
    if (arguments.common.isJson) {
        json.update(positionsJson(report, Losses::Kept));
        context.out << jsonLine(json);
    } else {
        printReport(context.out, report);
    }
    closeRecord(record, positionsJson(report, Losses::LeftOut), context);
}

} // namespace

void addPositionsCommand(CLI::App& app, CliContext& context)
{
    auto arguments = std::make_shared<PositionsArguments>();
    CLI::App* command =
        app.add_subcommand("positions", "Loss by position: whether the model behaves there");
    addCommonOptions(*command, arguments->common, ModelArgument::Required);
    command->remove_option(command->get_option("--rope"));
    command
        ->add_option("--rope", arguments->rotaries,
                     "rotation instead of the checkpoint's: plain, linear:F, dynamic:F, yarn:F, "
                     "llama3:F, longrope, gpt-oss-lite:F, none; twice: side by side")
        ->allow_extra_args(false);
    command->remove_option(command->get_option("--cache-dtype"));
    command
        ->add_option(
            "--cache-dtype", arguments->cacheDtypes,
            "keys and values: auto, float32, bfloat16, float16, int8, fp8; twice: side by side")
        ->check(CLI::IsMember({"auto", "float32", "bfloat16", "float16", "int8", "fp8"}))
        ->allow_extra_args(false);
    addLabTextOptions(*command, arguments->text);
    addChunkOption(*command, arguments->options.chunkTokens, "one shot");
    command
        ->add_option("--bins", arguments->options.numBins,
                     "bins of equal width (default: doubling, the last octave halved)")
        ->check(CLI::Range(std::int64_t{1}, kMostTokens));
    command->add_flag("--whole", arguments->options.isWhole,
                      "a rotation that follows the length is made for the whole length at once");
    addRecordOptions(*command, arguments->record, Resuming::Possible);
    command->callback([arguments, &context] { runPositions(*arguments, context); });
}

} // namespace kvscope
