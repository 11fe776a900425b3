#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/lab/latency.h"
#include "engine/lab/report_run.h"
#include "engine/session/experiment_command_line.h"
#include "engine/session/experiment_run.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <utility>

namespace kvscope {
namespace {

constexpr std::int64_t kShortestPrompt = 16; ///< as measureCard()

CardRunOptions optionsOf(const CardExperiment& experiment, std::uint64_t seed)
{
    if (!std::isfinite(experiment.limitSeconds) || experiment.limitSeconds <= 0.0)
        throw ArgumentError("the time that a first token may take must be above 0");
    if (experiment.tokens < 0 || experiment.chunkTokens <= 0)
        throw ArgumentError("a card's length and chunk must be positive");
    CardRunOptions options;
    options.tokens = experiment.tokens;
    options.limitSeconds = experiment.limitSeconds;
    options.isQuick = experiment.isQuick;
    options.chunkTokens = experiment.chunkTokens;
    options.seed = seed;
    return options;
}

std::string today()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%d", &parts);
    return text;
}

std::string lastName(const std::string& given)
{
    const std::filesystem::path path(given);
    return (path.has_filename() ? path : path.parent_path()).filename().string();
}

/// The command that makes the card anew; a card goes to others, so it names no folder.
std::string commandOf(const OpenModel& model, const ExperimentRequest& request)
{
    OpenRequest opened = model.opened;
    opened.path = lastName(opened.path);
    opened.tokenizerFile = lastName(opened.tokenizerFile);
    return experimentCommandLine(opened, request);
}

std::int64_t tokensOf(const OpenModel& model, const CardExperiment& experiment)
{
    return experiment.tokens > 0 ? experiment.tokens
                                 : usualCardTokens(model.decoder->config(), experiment.isQuick);
}

/// How many parts a card has here: where nothing can be read there is no loss, no use, no needle.
int numParts(const OpenModel& model)
{
    return (model.decoder->device().is_cpu() ? 1 : 0) + 1 + (model.tokenizer != nullptr ? 3 : 0);
}

/// What is searched for needles: as many tokens as its lengths that can be run have.
PlanRow needleRow(const OpenModel& model, const CardRunOptions& options, PlanRow row,
                  std::int64_t tokens)
{
    row.label = "needle search";
    const SweepRequest request = cardNeedles(options, tokens);
    try {
        for (const SweepColumn& column : plannedSweep(model, request).columns) {
            if (!column.skipReason.empty())
                continue;
            const std::int64_t trials =
                request.numItems * (1 + static_cast<std::int64_t>(request.depths.size()));
            row.tokens += trials * column.tokens;
            row.seconds +=
                static_cast<double>(trials) *
                model.timedPrefills.seconds(model.decoder->config(), column.tokens).value_or(0.0);
        }
    } catch (const ArgumentError& error) {
        row.skipReason = error.what();
    }
    return row;
}

/// The length and its halves, as measureCard() takes them.
std::vector<std::int64_t> lengthsOf(const OpenModel& model, const CardExperiment& experiment)
{
    const std::int64_t tokens = tokensOf(model, experiment);
    std::vector<std::int64_t> lengths{tokens};
    for (int i = 1; i <= (experiment.isQuick ? 2 : 3); ++i)
        if ((tokens >> i) >= kShortestPrompt)
            lengths.push_back(tokens >> i);
    return lengths;
}

} // namespace

std::vector<PlanRow> cardRows(const OpenModel& model, const CardExperiment& experiment)
{
    const CardRunOptions options = optionsOf(experiment, 0); // complains of what is wrong
    const ModelConfig& config = model.decoder->config();
    const std::int64_t tokens = tokensOf(model, experiment);
    const auto seconds = [&](std::int64_t length) {
        return model.timedPrefills.seconds(config, length).value_or(0.0);
    };
    PlanRow common;
    common.isBeyondTrained = config.trainedPositions > 0 && tokens > config.trainedPositions;
    common.skipReason = reasonToSkip(*model.decoder, tokens, experiment.chunkTokens);
    PlanRow peaks = common;
    peaks.label = "peak memory";
    PlanRow latency = common;
    latency.label = "first token";
    peaks.skipReason.clear(); // the shorter lengths say what fits
    latency.skipReason.clear();
    for (const std::int64_t length : lengthsOf(model, experiment)) {
        const std::int64_t ways = experiment.chunkTokens < length ? 2 : 1;
        const std::int64_t runs = ways * (experiment.isQuick ? 1 : 3);
        peaks.tokens += ways * length;
        peaks.seconds += static_cast<double>(ways) * seconds(length);
        latency.tokens += runs * length;
        latency.seconds += static_cast<double>(runs) * seconds(length);
    }
    std::vector<PlanRow> rows;
    if (model.decoder->device().is_cpu())
        rows.push_back(std::move(peaks));
    rows.push_back(std::move(latency));
    if (model.tokenizer == nullptr)
        return rows;
    PlanRow loss = common;
    loss.label = "loss by position";
    loss.tokens = tokens;
    loss.seconds = seconds(tokens);
    PlanRow use = common;
    use.label = "use";
    use.tokens = 2 * tokens;
    use.seconds = 2.0 * seconds(tokens);
    rows.push_back(std::move(loss));
    rows.push_back(std::move(use));
    rows.push_back(needleRow(model, options, std::move(common), tokens));
    return rows;
}

ExperimentReport runCard(ExperimentContext& context, const CardExperiment& experiment)
{
    OpenModel& model = context.model();
    const CardRunOptions options = optionsOf(experiment, context.request().seed);
    const bool isFloat = model.context->cache().options().dtype().itemsize() == 4;
    CardEvidence evidence = cardSubject(*model.checkpoint, options, isFloat ? 4 : 2);
    evidence.command = commandOf(model, context.request());
    context.begin(*model.decoder, std::nullopt);
    if (reasonToSkip(*model.decoder, evidence.tokens, options.chunkTokens).empty())
        context.planCache(cacheBytesNeeded(model.context->cache(), evidence.tokens));
    // A part is told of before it, its rows, which are set in, behind them: both are moments at
    // which nothing is being timed.
    const double parts = numParts(model);
    double begun = 0.0;
    std::string part;
    const auto told = [&](const std::string& line) {
        const bool isRow = line.starts_with(' ');
        if (!isRow) {
            part = line;
            begun = std::min(begun + 1.0, parts);
        }
        const std::string row = isRow ? ": " + line.substr(line.find_first_not_of(' ')) : "";
        context.tell((begun - 1.0) / parts, 0.0, part + row);
        context.between();
    };
    measureCard(evidence, *model.decoder, model.tokenizer.get(), options, told, context.stop());
    if (model.tokenizer != nullptr) {
        told("needle search");
        evidence.needle = searchNeedles(context, cardNeedles(options, evidence.tokens),
                                        [&](const std::string& trial) { told(' ' + trial); });
    }
    evidence.facts.push_back({"Made", std::string("kvscope ") + KVSCOPE_VERSION + ", " + today()});
    return std::make_shared<const ReportCard>(reportCard(evidence));
}

} // namespace kvscope
