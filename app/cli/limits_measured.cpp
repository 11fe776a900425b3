#include "app/cli/limits_measured.h"

#include "app/cli/text_table.h"
#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/lab/peak_memory.h"
#include "engine/lab/report_json.h"

namespace kvscope {
namespace {

std::string wayText(PrefillWay way)
{
    switch (way) {
    case PrefillWay::Chunked:
        return "chunks";
    case PrefillWay::OneShot:
        return "one shot";
    case PrefillWay::AllLogits:
        return "chunks, all logits kept";
    case PrefillWay::Scores:
        return "one shot, scores materialised";
    }
    return {};
}

std::string mebibytes(std::uint64_t bytes)
{
    return fixedText(static_cast<double>(bytes) / (1024.0 * 1024.0), 1);
}

std::string over(std::uint64_t measured, std::uint64_t predicted)
{
    return fixedText(static_cast<double>(measured) / static_cast<double>(predicted), 2);
}

void printPeaks(std::ostream& out, const PeakReport& report)
{
    out << "peak memory of a prefill above the loaded model, MiB; chunks of "
        << formatCount(report.chunkTokens) << "; " << formatBytes(report.freeBytes)
        << " were free\n";
    TextTable table({"tokens", "way", "cache", "predicted", "measured", "measured/predicted",
                     "beside the cache", "time"});
    for (const PeakRow& row : report.rows) {
        if (row.isSkipped())
            table.addRow({formatCount(row.tokens), wayText(row.way), mebibytes(row.cacheBytes),
                          mebibytes(row.predictedBytes), "-", "-", "-", "-"});
        else
            table.addRow({formatCount(row.tokens), wayText(row.way), mebibytes(row.cacheBytes),
                          mebibytes(row.predictedBytes), mebibytes(row.measuredBytes),
                          over(row.measuredBytes, row.predictedBytes),
                          mebibytes(row.besideCacheBytes()), formatSeconds(row.seconds)});
    }
    table.print(out);
    for (const PeakRow& row : report.rows)
        if (row.isSkipped())
            out << "skipped: " << formatCount(row.tokens) << " tokens, " << wayText(row.way) << ": "
                << row.skipReason << '\n';
    for (const PeakGrowth& growth : report.growth)
        out << wayText(growth.way) << ": beside the cache, "
            << fixedText(growth.bytesPerToken / 1024.0, 2) << " KiB more per token (R^2 "
            << fixedText(growth.explained, 3) << ")\n";
}

} // namespace

void addMeasuredLimitsOptions(CLI::App& command, MeasuredLimitsOptions& options)
{
    CLI::Option* measure = command.get_option("--measure");
    command.add_option("--chunk", options.chunkTokens, "prefill chunk of --measure, in tokens")
        ->check(CLI::Range(std::int64_t{1}, kMostTokens))
        ->capture_default_str()
        ->needs(measure);
    command
        .add_option("--scores-to", options.mostScoresTokens,
                    "longest prompt that --measure runs with all scores materialised; 0: none")
        ->check(CLI::Range(std::int64_t{0}, kMostTokens))
        ->capture_default_str()
        ->needs(measure);
    addRecordOptions(command, options.record, Resuming::None);
    command.get_option("--out")->needs(measure);
}

void measureLimits(const CommonOptions& common, const MeasuredLimitsOptions& options,
                   const std::shared_ptr<const Checkpoint>& checkpoint, const CliContext& context)
{
    if (isPreset(common))
        throw ArgumentError(common.model + " is a shape without weights: --measure needs a model");
    const auto decoder = buildDecoder(common, context, checkpoint);
    PeakOptions peaks;
    peaks.lengths = options.lengths;
    peaks.chunkTokens = options.chunkTokens;
    peaks.mostScoresTokens = options.mostScoresTokens;
    peaks.seed = common.seed;
    auto record = openRecord(options.record, common, context, *decoder, "peak-memory",
                             {{"lengths", peaks.lengths},
                              {"chunk", peaks.chunkTokens},
                              {"scores_to", peaks.mostScoresTokens}});
    const PeakObserver observer = [&](const PeakRow& row) {
        context.err << formatCount(row.tokens) << " tokens, " << wayText(row.way) << ": "
                    << (row.isSkipped() ? "skipped, " + row.skipReason
                                        : formatBytes(row.measuredBytes))
                    << '\n';
        if (record)
            record->append("peak", peakRowJson(row));
    };
    const PeakReport report = measurePeaks(*decoder, peaks, observer, context.stop);
    finishLabRun(common, context, *decoder, record, peakJson(report),
                 [&report](std::ostream& out) { printPeaks(out, report); });
}

} // namespace kvscope
